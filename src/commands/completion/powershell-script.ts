/** What PowerShell runs at TAB: it asks `listctl __complete`, and puts in what that gives. */
export const powershellScript = `# listctl in PowerShell. In $PROFILE: listctl completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName listctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object {
      $_.Extent.EndOffset -lt $cursorPosition -or ($wordToComplete -eq '' -and $_.Extent.EndOffset -le $cursorPosition)
    } | ForEach-Object {
      if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
  listctl __complete "current=$wordToComplete" @words 2>$null | Where-Object { $_ -notlike ':files*' } | ForEach-Object {
    $value, $description = $_ -split "\`t", 2
    # An empty one is refused.
    if (-not $description) { $description = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
  }
}
`;
