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
