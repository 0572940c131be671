/** Shell completion: the scripts, and `listctl __complete`, which they call at each TAB. */
import { readdirSync, statSync } from 'node:fs';
import type { Argument, Command, Option } from 'commander';
import { addHelpNotes, type NewProgram, type SetUp } from '../cli/command.ts';
import { type GlobalFlag, globalFlags, OptionalValueOption } from '../cli/flags.ts';
import { findOption, type ParsedWords, parseWords } from '../cli/words.ts';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { printable } from '../core/text.ts';
import { dryRunFormats, formatMeanings, outputFormats } from '../output/view.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { UserSettings } from '../settings/read-settings.ts';

const bashScript = `# listctl in bash. In ~/.bashrc: source <(listctl completion bash)
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

const fishScript = `# listctl in fish. In ~/.config/fish/config.fish: listctl completion fish | source
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

const powershellScript = `# listctl in PowerShell. In $PROFILE: listctl completion powershell | Out-String | Invoke-Expression
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

const zshScript = `#compdef listctl
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

const scripts: ReadonlyMap<string, string> = new Map([
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

/** Characters without a meaning to any shell: names of profiles come from a file. */
const isSafe = /^[\p{L}\p{N}\p{M}._@:=/-]+$/u;

/**
 * `listctl __complete current=WORD WORD…` prints a line for each candidate for the current word: the word, a tab and
 * its description. The line `:files` stands for file names, `:files=` for file names after the first `=`.
 *
 * Unreadable settings are ignored, since an error in the middle of a command line does not help.
 */
export function setUpComplete(newProgram: NewProgram): SetUp {
  return (command, { host, words }) => {
    command
      .argument('[words...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async () => {
        const [, current = '', ...typed] = words;
        const word = current.replace(/^current=/, '');
        const place = await parseWords(typed, newProgram(['--help']));
        const { candidates, files } = await complete({ ...place, typed }, word, newProgram, host);
        const lines = candidates
          .filter(({ value }) => value.startsWith(word) && isSafe.test(value))
          .map(({ value, description = '' }) => `${value}\t${printable(description)}\n`);
        const isFileWanted = files !== undefined && lines.length === 0;
        await host.stdout.write(isFileWanted ? `${files}\n` : lines.join(''));
      });
  };
}

interface Candidate {
  readonly value: string;
  readonly description?: string;
}

interface Completion {
  /** May include words that do not start with what was typed. */
  readonly candidates: readonly Candidate[];
  /** Whether the word is a file name if no candidate fits: the whole word, or after its first `=`. */
  readonly files?: ':files' | ':files=' | undefined;
}

interface Place extends ParsedWords {
  readonly typed: readonly string[];
}

/** @param newProgram for `help`, whose arguments are commands */
async function complete(place: Place, word: string, newProgram: NewProgram, host: Host): Promise<Completion> {
  const { command, option, positionals, isAfterDashes } = place;
  if (option !== undefined && (option.required || !word.startsWith('-')))
    return optionValues(option, word, command, host);
  if (!isAfterDashes && word.startsWith('-')) return completeFlag(word, command, host);
  // No subcommand follows an unknown one.
  if (command.commands.length > 0) return { candidates: positionals.length > 0 ? [] : subcommands(command) };
  if (command.name() === 'help') return { candidates: await helpTopics(positionals, newProgram) };
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[positionals.length] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? { candidates: [] } : argumentValues(argument, place, host);
}

function completeFlag(word: string, command: Command, host: Host): Completion {
  const [, flag = '', value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  const option = value === undefined ? undefined : findOption(flag, command);
  if (value === undefined || option === undefined) {
    const options: readonly Option[] = command.createHelp().visibleOptions(command);
    return { candidates: options.map(({ long, description }) => ({ value: long ?? '', description })) };
  }
  if (option.isBoolean() && !(option instanceof OptionalValueOption)) return { candidates: [] };
  const { candidates, files } = optionValues(option, value, command, host);
  return {
    candidates: candidates.map((each) => ({ ...each, value: `${flag}=${each.value}` })),
    // The scripts do not support a file after a second `=`, as in --field=Body@=FILE.
    files: files === ':files' ? ':files=' : undefined,
  };
}

function optionValues(
  { long = '', flags, argChoices }: Option,
  word: string,
  command: Command,
  host: Host,
): Completion {
  // key@=FILE, key:@=FILE
  if (long === '--field') return { candidates: [], files: /^[^=]+@=/.test(word) ? ':files=' : undefined };
  if (long === '--output') return { candidates: formats(findOption('--dry-run', command) !== undefined) };
  if (long === '--default-output') return { candidates: formats(false) };
  if (long === '--profile' || long === '--confirm') return { candidates: profiles(host) };
  const flag: GlobalFlag | undefined = Object.values(globalFlags).find((each) => each.flag === long);
  const choices = argChoices ?? flag?.choices;
  if (choices !== undefined) return { candidates: withoutDescription(choices) };
  return { candidates: [], files: /[<[]=?(file|dir)[>\]]$/.test(flags) ? ':files' : undefined };
}

async function argumentValues(argument: Argument, place: Place, host: Host): Promise<Completion> {
  const { command } = place;
  switch (argument.name()) {
    case 'key':
    case 'old':
      return { candidates: await stateKeys(place, host) };
    case 'run':
      // Or the path of a journal.
      return { candidates: runs(host), files: ':files' };
    case 'manifest':
      return { candidates: [], files: ':files' };
    case 'method':
      return { candidates: withoutDescription((await import('./api.ts')).methods) };
    case 'shell':
      return { candidates: withoutDescription([...scripts.keys()]) };
    case 'name':
      return { candidates: command.parent?.name() === 'profile' ? profiles(host) : [] };
    default:
      return { candidates: [] };
  }
}

function withoutDescription(words: readonly string[]): readonly Candidate[] {
  return words.map((value) => ({ value }));
}

function formats(isDryRun: boolean): readonly Candidate[] {
  const meanings: Readonly<Record<string, string>> = {
    ...formatMeanings,
    curl: 'with --dry-run: a command of curl',
    markdown: 'of a plan: for the comment of a pull request',
  };
  const names = isDryRun ? dryRunFormats : outputFormats;
  return names.map((value) => ({ value, description: meanings[value] ?? '' }));
}

function profiles(host: Host): readonly Candidate[] {
  try {
    const { byName, current } = new UserSettings(host).profiles();
    return [...byName].map(([value, { baseUrl = '' }]) => ({
      value,
      description: `${baseUrl}${value === current ? ' (in use)' : ''}`.trim(),
    }));
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

/** The runs, newest first, by the names of their journals: reading them would take too long. */
function runs(host: Host): readonly Candidate[] {
  const directory = findRunsDirectory(host);
  const names = directory === undefined ? [] : (attempt(() => readdirSync(directory)) ?? []);
  const ids = names.flatMap((name) => /^(\d{8}-\d{6}-[0-9a-z]{4})\.[0-9a-f]{16}\.journal$/.exec(name)?.[1] ?? []);
  const sorted = ids.sort().reverse();
  const last = sorted.length === 0 ? [] : [{ value: 'last', description: 'the newest run' }];
  return [...last, ...withoutDescription(sorted)];
}

/** A larger state would take longer to read than a person waits. */
const stateBytesMax = 10_000_000;

/** The keys in the state of the manifest that was typed. */
async function stateKeys({ positionals: [manifest], typed }: Place, host: Host): Promise<readonly Candidate[]> {
  if (manifest === undefined) return [];
  const at = typed.findIndex((word) => /^--state(=|$)/.test(word));
  const state = typed[at] === '--state' ? typed[at + 1] : typed[at]?.slice('--state='.length);
  const [{ statePathOf }, { readState }] = await Promise.all([
    import('../apply/open.ts'),
    import('../apply/state-file.ts'),
  ]);
  try {
    const path = statePathOf(manifest, state === undefined ? {} : { state }, host);
    const size = attempt(() => statSync(path).size) ?? 0;
    const { items = new Map() } = (size <= stateBytesMax && readState(path)) || {};
    return [...items].map(([value, { id = 'in doubt' }]) => ({ value, description: id }));
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

function subcommands(command: Command): readonly Candidate[] {
  const commands = command.createHelp().visibleCommands(command);
  return commands.map((each) => ({ value: each.name(), description: each.summary() }));
}

async function helpTopics(typed: readonly string[], newProgram: NewProgram): Promise<readonly Candidate[]> {
  const { command, positionals } = await parseWords(typed, newProgram(['--help']));
  if (positionals.length > 0 || command.commands.length === 0) return [];
  if (typed.length > 0) return subcommands(command);
  const { topics } = await import('./help/topics.ts');
  const pages = topics.map(({ name, summary }) => ({ value: name, description: summary }));
  const names = new Set(pages.map(({ value }) => value));
  return [...pages, ...subcommands(command).filter(({ value }) => !names.has(value))];
}
