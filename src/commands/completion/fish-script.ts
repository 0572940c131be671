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
