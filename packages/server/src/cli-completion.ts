/** `tablinum completion`: scripts for completion, made from the list of commands. */
import { commandExitCodes, commands, describeUsage, UsageError } from './cli-commands.ts';

/** Prints the script of a shell. @returns the exit code. */
export function runCompletion([shell, ...more]: readonly string[]): number {
  const write = shell === undefined || more.length > 0 ? undefined : scripts[shell as keyof typeof scripts];
  if (!write) throw new UsageError(describeUsage('completion'));
  console.log(write());
  return commandExitCodes.done;
}

const names = commands.map(({ name }) => name).join(' ');
const withActions = commands.filter(({ actions }) => actions.length > 0);

const scripts = {
  bash: () => `_tablinum() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${names}" -- "$word")); return; fi
  if [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${withActions.map(({ name, actions }) => `      ${name}) COMPREPLY=($(compgen -W "${actions.join(' ')}" -- "$word")); return ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _tablinum tablinum`,
  zsh: () => `#compdef tablinum
if (( CURRENT == 2 )); then
  local -a names=(${commands.map(({ name, summary }) => `'${name}:${quote(summary)}'`).join(' ')})
  _describe command names
elif (( CURRENT == 3 )); then
  case "$words[2]" in
${withActions.map(({ name, actions }) => `    ${name}) compadd ${actions.join(' ')} ;;`).join('\n')}
    *) _files ;;
  esac
else
  _files
fi`,
  fish: () =>
    [
      ...commands.map(
        ({ name, summary }) => `complete -c tablinum -n __fish_use_subcommand -f -a ${name} -d '${quote(summary)}'`,
      ),
      ...withActions.map(
        ({ name, actions }) =>
          `complete -c tablinum -n '__fish_seen_subcommand_from ${name}' -f -a '${actions.join(' ')}'`,
      ),
    ].join('\n'),
} as const;

function quote(text: string): string {
  return text.replaceAll("'", '').replaceAll(':', '\\:');
}
