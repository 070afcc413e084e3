/** The commands of `tablinum`: what they do and how they are called. */

/** Exit codes of all commands. `import` also uses 3: rows were refused; `schema diff` uses 4: something differs. */
export const commandExitCodes = { done: 0, failed: 1, usage: 2, differs: 4 } as const;

/** A command is called in the wrong way. */
export class UsageError extends Error {}

export interface CommandDescription {
  readonly name: string;
  readonly summary: string;
  /** Sub-commands for help and completion. */
  readonly actions: readonly string[];
  readonly usage: string;
}

const common = '[--app <name>] [--json]';

export const commands: readonly CommandDescription[] = [
  {
    name: 'start',
    summary: 'Starts the server. The default command.',
    actions: [],
    usage: `tablinum start [--dry-run]
--dry-run says what a start of this version would change in the stored data, and changes nothing.`,
  },
  {
    name: 'config',
    summary: 'Shows every setting, where its value comes from, and whether it is valid. Secrets are masked.',
    actions: [],
    usage: 'tablinum config [--json]',
  },
  {
    name: 'doctor',
    summary: 'Checks settings, folder, disk, clock, store and mail, and says how problems are solved.',
    actions: [],
    usage: 'tablinum doctor [--json]',
  },
  {
    name: 'user',
    summary: 'Users: create, list, set a new password, suspend and activate.',
    actions: ['create', 'list', 'reset-password', 'suspend', 'activate'],
    usage: `tablinum user create <e-mail> [--role <name>] [--password-stdin] ${common}
tablinum user list ${common}
tablinum user reset-password <e-mail> [--password-stdin] ${common}
tablinum user suspend <e-mail> ${common}
tablinum user activate <e-mail> ${common}
Without --password-stdin, a password is generated and printed once.`,
  },
  {
    name: 'key',
    summary: 'API keys: create, list, revoke.',
    actions: ['create', 'list', 'revoke'],
    usage: `tablinum key create --role <name> [--name <text>] [--expires <90d or never>] ${common}
tablinum key list ${common}
tablinum key revoke <id> ${common}
The token of a new key is printed once.`,
  },
  {
    name: 'app',
    summary: 'Applications: create, list, start, stop, move, destroy.',
    actions: ['create', 'list', 'start', 'stop', 'move', 'destroy'],
    usage: `tablinum app create <name> [--json]
tablinum app list [--json]
tablinum app start <name> [--json]
tablinum app stop <name> [--json]
tablinum app move <name> --node <host:port> [--json]
tablinum app destroy <name> --confirm <name> [--json]
move puts the data on another node of a Citus cluster while it is used.
destroy deletes the application with all its data.`,
  },
  {
    name: 'jobs',
    summary: 'Imports in the background: list, cancel.',
    actions: ['list', 'cancel'],
    usage: `tablinum jobs list ${common}\ntablinum jobs cancel <id> ${common}`,
  },
  {
    name: 'schema',
    summary: 'The schema as files: writes, compares and applies them, and restores earlier revisions.',
    actions: ['pull', 'diff', 'apply', 'rollback', 'revisions'],
    usage: `tablinum schema pull <folder> [--format yaml|json] [--app <name>]
tablinum schema diff <folder> ${common}
tablinum schema apply <folder> [--allow-destructive] [--dry-run] [--summary <text>] ${common}
tablinum schema rollback [--to <number>] [--allow-destructive] [--dry-run] ${common}
tablinum schema revisions ${common}
diff exits with 4 if the folder and the application differ. --to is the number of a revision; 0: the state before the first.
Without --to, rollback restores the state before the last revision. Without --allow-destructive, destructive steps are refused.`,
  },
  {
    name: 'import',
    summary: 'Imports a file into a collection of a running server, over HTTP.',
    actions: [],
    usage: `tablinum import <file or -> --collection <name> [--mode create|update|upsert] [--dry-run] [--app <name>] [--url <address>] [--json]
Without arguments, the command lists all options. The credential is TABLINUM_TOKEN.
Exit code 3: rows were refused.`,
  },
  {
    name: 'export',
    summary: 'Exports a collection of a running server to a file, over HTTP.',
    actions: [],
    usage: `tablinum export <collection> [--format csv|xlsx|json|ndjson] [--out <file>] [--app <name>] [--url <address>] [--json]
Without arguments, the command lists all options. The credential is TABLINUM_TOKEN.`,
  },
  {
    name: 'mail',
    summary: 'Imports mail into an account of a running server; rebuilds conversations.',
    actions: ['import', 'rethread'],
    usage: `tablinum mail import <file or folder> --account <id or address> [--mailbox <path>] [--app <name>] [--url <address>] [--json]
tablinum mail rethread --account <id or address> [--app <name>] [--url <address>] [--json]
The credential is TABLINUM_TOKEN.`,
  },
  {
    name: 'files',
    summary: 'Moves the bytes of files and e-mails into the bucket.',
    actions: ['move'],
    usage: 'tablinum files move',
  },
  {
    name: 'move',
    summary: 'Moves an application to the other engine or to another server, while both run.',
    actions: [],
    usage: `tablinum move --app <name> --to <database, folder or address> [--max-pause <seconds>]
Set DATA_DIR or DATABASE_URL as for the server that has the application. --to is the DATABASE_URL, the DATA_DIR or the
address (https://…) of the other server. With an address, set TABLINUM_TO_TOKEN to an API key of an administrator of its application "main".
Requests are refused for at most --max-pause seconds (default: 5). Repeat the command to continue an interrupted move.`,
  },
  {
    name: 'backup',
    summary: 'Saves the data of all applications or of one, whether or not servers run.',
    actions: [],
    usage: `tablinum backup [--app <name>] <folder or s3://bucket/prefix/name>
An s3:// address needs BACKUP_S3_BUCKET, BACKUP_S3_ENDPOINT and the access key.`,
  },
  {
    name: 'verify',
    summary: 'Reads a whole backup, and compares its checksums and row counts.',
    actions: [],
    usage: 'tablinum verify [--identity <file>] <folder or s3://bucket/prefix/name>',
  },
  {
    name: 'restore',
    summary: 'Restores a backup while no server runs. What it replaces is kept.',
    actions: [],
    usage: `tablinum restore [--app <name> [--as <new name>]] [--replace all|<name>] [--identity <file>] <folder or s3://bucket/prefix/name>
--as restores a copy next to the original. --identity is a file with the secret key of age, for encrypted backups.`,
  },
  {
    name: 'completion',
    summary: 'Prints a script for completion in a shell.',
    actions: ['bash', 'zsh', 'fish'],
    usage: `tablinum completion bash > /etc/bash_completion.d/tablinum
tablinum completion zsh > "\${fpath[1]}/_tablinum"
tablinum completion fish > ~/.config/fish/completions/tablinum.fish`,
  },
  {
    name: 'help',
    summary: 'Shows this list, or how a command is called.',
    actions: [],
    usage: 'tablinum help [command]',
  },
];

/** How a command is called, for its help and for refusals. */
export function describeUsage(name: string): string {
  return commands.find((each) => each.name === name)?.usage ?? '';
}
