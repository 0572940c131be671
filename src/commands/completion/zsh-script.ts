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
