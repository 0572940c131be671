import { addHelpNotes, type SetUp } from '../cli/command.ts';
import { Failure } from '../core/errors.ts';

/** What bash runs at TAB: it asks `listctl __complete`, and puts in what that gives. */
export const bashScript = `# listctl in bash. In ~/.bashrc: source <(listctl completion bash)
_listctl() {
  local rest=\${COMP_LINE:0:COMP_POINT} trimmed words=() n=-1 i word
  # readline breaks words at = : and @ too. What no space parts is one word, and the last one ends at the cursor.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    trimmed=\${rest#"\${rest%%[![:space:]]*}"}
    word=\${COMP_WORDS[i]}
    if ((i == COMP_CWORD)); then word=$trimmed; fi
    if ((n < 0)) || [[ $trimmed != "$rest" ]]; then
      n=$((n + 1))
      words[n]=$word
    else
      words[n]+=$word
    fi
    rest=\${trimmed#"$word"}
  done
  local current=\${words[n]} prefix='' tail
  for i in '@' '=' ':'; do
    if [[ $COMP_WORDBREAKS == *"$i"* && $current == *"$i"* ]]; then
      tail=\${current##*"$i"}
      # An @ stays with what follows it.
      if [[ $i == '@' ]]; then tail=@$tail; fi
      if ((\${#current} - \${#tail} > \${#prefix})); then prefix=\${current%"$tail"}; fi
    fi
  done
  local files=''
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    case $word in
      :files | :files=) files=1 ;;
      *) COMPREPLY+=("\${word#"$prefix"}") ;;
    esac
  done < <(listctl __complete "current=$current" "\${words[@]:1:n-1}" 2>/dev/null)
  if [[ -n $files ]] && ! compopt -o default 2>/dev/null; then
    # bash 3
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "\${current#"$prefix"}")
  fi
}
complete -F _listctl listctl
`;

/** What fish runs at TAB: it asks `listctl __complete`, and puts in what that gives. */
export const fishScript = `# listctl in fish. In ~/.config/fish/config.fish: listctl completion fish | source
function __listctl_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    for line in (listctl __complete "current=$current" $words 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case ':files='
                set -l parts (string split -m 1 = -- "$current")
                for path in (__fish_complete_path "$parts[2]")
                    echo "$parts[1]=$path"
                end
            case '*'
                echo $line
        end
    end
end
complete -c listctl -f -k -a '(__listctl_complete)'
`;

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

/** What zsh runs at TAB: it asks `listctl __complete`, and puts in what that gives. */
export const zshScript = `#compdef listctl
# listctl in zsh. In ~/.zshrc, after compinit: source <(listctl completion zsh)
_listctl() {
  local -a lines described
  local line value
  lines=(\${(f)"$(listctl __complete "current=\${(Q)PREFIX}" "\${(@Q)words[2,CURRENT-1]}" 2>/dev/null)"})
  for line in $lines; do
    value=\${line%%$'\\t'*}
    case $value in
      :files) _files; return ;;
      :files=) compset -P 1 '*='; _files; return ;;
      *) described+=("\${value//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  _describe listctl described
}
if [[ $funcstack[1] == _listctl ]]; then _listctl "$@"; else compdef _listctl listctl; fi
`;

export const scripts: ReadonlyMap<string, string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
  ['powershell', powershellScript],
]);

/** `listctl completion SHELL` */
export const setUpCompletion: SetUp = (command, { host }) => {
  const names = [...scripts.keys()].join(', ');
  command.argument('<shell>', names).action(async (shell: string) => {
    const script = scripts.get(shell);
    if (script === undefined) {
      throw new Failure('usage', `unknown shell "${shell.slice(0, 100)}"`, { hint: `use one of: ${names}` });
    }
    await host.stdout.write(script);
  });
  addHelpNotes(command, {
    examples: [
      'source <(listctl completion bash)',
      'source <(listctl completion zsh)',
      'listctl completion fish | source',
      'listctl completion powershell | Out-String | Invoke-Expression',
    ],
    globalFlags: [],
  });
};
