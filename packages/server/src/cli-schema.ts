/** `tablinum schema`: the schema of an application as files, sent to `schema:…` as the operator. */
import { parseArgs } from 'node:util';
import type { Config } from './base/config.ts';
import { commandExitCodes, describeUsage, UsageError } from './cli-commands.ts';
import { type OperatorConnection, OperatorRefusal, withOperator } from './cli-operator.ts';
import {
  type FolderSchema,
  findFormat,
  readSchemaFolder,
  type SchemaFolder,
  writeSchemaFolder,
} from './cli-schema-folder.ts';

const options = {
  app: { type: 'string', default: 'main' },
  json: { type: 'boolean', default: false },
  format: { type: 'string' },
  to: { type: 'string' },
  summary: { type: 'string' },
  'allow-destructive': { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>['values'];

interface Call {
  readonly connection: OperatorConnection;
  readonly values: Values;
  /** The folder of schema files; empty for commands that take none. */
  readonly folder: string;
}

interface SchemaCommand {
  readonly takesFolder: boolean;
  readonly flags: readonly (keyof Values)[];
  /** @returns the exit code. */
  readonly run: (call: Call) => Promise<number>;
}

const schemaCommands: Readonly<Record<string, SchemaCommand>> = {
  pull: { takesFolder: true, flags: ['format'], run: pull },
  diff: { takesFolder: true, flags: [], run: diff },
  apply: { takesFolder: true, flags: ['allow-destructive', 'dry-run', 'summary'], run: apply },
  rollback: { takesFolder: false, flags: ['to', 'allow-destructive', 'dry-run', 'summary'], run: rollback },
  revisions: { takesFolder: false, flags: [], run: listRevisions },
};

/** An apply converts the values of all records, which may take long. */
const applyMilliseconds = 6 * 3_600_000;

/** A step as the server describes it. */
interface Step {
  readonly action: string;
  readonly kind: string;
  readonly of: string;
  readonly name?: string;
  readonly from?: string;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly destructive: boolean;
  readonly records?: number | null;
}

interface Difference {
  readonly state: string;
  readonly same: boolean;
  readonly destructive: number;
  readonly steps: readonly Step[];
  readonly locks: { readonly blocks: 'writes' | 'readsAndWrites'; readonly collections: readonly string[] };
}

/** Runs a command. @returns the exit code. @throws UsageError; Error with a message for the operator. */
export async function runSchemaCommand(args: readonly string[], config: Config): Promise<number> {
  const { values, positionals } = readArguments(args);
  const [name = '', folder = '', ...more] = positionals;
  const command = Object.hasOwn(schemaCommands, name) ? schemaCommands[name] : undefined;
  if (!command || more.length > 0 || (folder !== '') !== command.takesFolder)
    throw new UsageError(describeUsage('schema'));
  const allowed: readonly string[] = ['app', 'json', ...command.flags];
  for (const flag of Object.keys(options) as (keyof Values)[])
    if (!allowed.includes(flag) && values[flag] !== undefined && values[flag] !== false)
      throw new UsageError(`"tablinum schema ${name}" has no option --${flag}.\n${describeUsage('schema')}`);
  return withOperator(config, values.app, (connection) => command.run({ connection, values, folder }));
}

function readArguments(args: readonly string[]): { readonly values: Values; readonly positionals: readonly string[] } {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${describeUsage('schema')}`);
  }
}

async function pull({ connection, values, folder }: Call): Promise<number> {
  const format = values.format ?? findFormat(folder) ?? 'yaml';
  if (format !== 'yaml' && format !== 'json') throw new UsageError('--format must be yaml or json.');
  const { schema } = (await connection.call('schema:pull', {})) as { readonly schema: FolderSchema };
  const { written, removed, foreign } = await writeSchemaFolder(folder, schema, format);
  if (values.json) print({ written, removed, foreign });
  else {
    for (const name of written) console.log(`wrote ${name}`);
    for (const name of removed) console.log(`removed ${name}`);
    for (const name of foreign) console.log(`left ${name}, which is not a schema file`);
    if (written.length + removed.length === 0) console.log('The files are up to date.');
  }
  return commandExitCodes.done;
}

async function diff({ connection, values, folder }: Call): Promise<number> {
  const files = await readSchemaFolder(folder);
  const difference = await compare(connection, files, { schema: files.schema });
  if (values.json) print(difference);
  else printDifference(difference);
  return difference.same ? commandExitCodes.done : commandExitCodes.differs;
}

async function apply({ connection, values, folder }: Call): Promise<number> {
  const files = await readSchemaFolder(folder);
  return change({ connection, values, action: 'schema:apply', body: { schema: files.schema }, files });
}

function rollback({ connection, values }: Call): Promise<number> {
  const to = values.to === undefined ? null : Number(values.to);
  if (to !== null && !(Number.isInteger(to) && to >= 0))
    throw new UsageError('--to must be the number of a revision, or 0 for the state before the first one.');
  return change({ connection, values, action: 'schema:rollback', body: { to }, files: null });
}

interface Change {
  readonly connection: OperatorConnection;
  readonly values: Values;
  readonly action: string;
  readonly body: object;
  readonly files: SchemaFolder | null;
}

/** Shows the changes and carries them out, unless the schema was changed in between. */
async function change({ connection, values, action, body, files }: Change): Promise<number> {
  const difference = await compare(connection, files, body);
  if (!values.json) printDifference(difference);
  if (difference.same) {
    if (values.json) print({ revision: null, steps: [] });
    return commandExitCodes.done;
  }
  if (difference.destructive > 0 && !values['allow-destructive'])
    throw new Error(
      `${difference.destructive === 1 ? '1 step is' : `${difference.destructive} steps are`} destructive. Nothing was changed. To accept this, repeat the command with --allow-destructive. The data of fields and collections is kept for 30 days.`,
    );
  const request = {
    ...body,
    state: difference.state,
    allowDestructive: values['allow-destructive'],
    ...(values.summary !== undefined && { summary: values.summary }),
  };
  const parameters: Record<string, string> = values['dry-run'] ? { dryRun: 'true' } : {};
  const result = (await connection.call(action, request, parameters, applyMilliseconds).catch(nameFiles(files))) as {
    readonly revision: number | null;
    readonly restored: readonly string[];
    readonly secrets: readonly { readonly webhook: string; readonly secret: string }[];
  };
  if (values.json) print(result);
  else if (values['dry-run']) console.log('The steps are possible. Nothing was changed.');
  else {
    for (const name of result.restored) console.log(`The data of ${name} was restored.`);
    for (const { webhook, secret } of result.secrets)
      console.log(`The secret of ${webhook} is ${secret}. It is only shown once.`);
    console.log(`Applied as revision ${result.revision}. "tablinum schema rollback" undoes it.`);
  }
  return commandExitCodes.done;
}

async function compare(connection: OperatorConnection, files: SchemaFolder | null, body: object): Promise<Difference> {
  return (await connection.call('schema:diff', body, {}, applyMilliseconds).catch(nameFiles(files))) as Difference;
}

/** Adds the files and lines of its causes to a refusal. */
function nameFiles(files: SchemaFolder | null): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof OperatorRefusal) || !files) throw error;
    const lines = Object.entries(error.details).map(([path, text]) => `${files.locate(path) ?? path}: ${text}`);
    throw lines.length === 0 ? error : new Error(`${[...new Set(lines)].join('\n')}\nNothing was changed.`);
  };
}

const signs: Readonly<Record<string, string>> = { create: '+', change: '~', rename: '>', destroy: '-', adopt: '=' };

function printDifference({ same, destructive, steps, locks }: Difference): void {
  if (same) {
    console.log('Nothing differs.');
    return;
  }
  for (const step of steps) console.log(describeStep(step));
  if (locks.collections.length > 0) {
    const whose = locks.collections.includes('*') ? 'the application' : locks.collections.join(', ');
    const what = locks.blocks === 'writes' ? 'writes to' : 'reads and writes of';
    console.log(`While the steps run, all ${what} ${whose} wait.`);
  }
  if (destructive > 0) console.log(`Destructive steps: ${destructive}.`);
}

function describeStep({ action, kind, of, name, from, values = {}, before = {}, destructive, records }: Step): string {
  const subject = kind === 'permission' ? `of ${of} on ${name}` : name === undefined ? of : `${of}.${name}`;
  const former = name === undefined ? from : `${of}.${from}`;
  const changes = Object.keys(values).map((key) => `${key} ${format(before[key])} -> ${format(values[key])}`);
  return [
    `${signs[action] ?? ' '} ${action} ${kind} ${from === undefined ? subject : `${former} to ${name ?? of}`}`,
    ...(action === 'change' ? [changes.join(', ')] : []),
    ...(records === null || records === undefined ? [] : [`(${records} ${records === 1 ? 'record' : 'records'})`]),
    ...(destructive ? ['DESTRUCTIVE'] : []),
  ].join(' ');
}

function format(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

async function listRevisions({ connection, values }: Call): Promise<number> {
  const result = (await connection.call('schema:revisions', undefined)) as {
    readonly revisions: readonly {
      number: number;
      at: string;
      actor: string | null;
      summary: string;
      steps: readonly Step[];
    }[];
    readonly tombstones: readonly { name: string; records: number; expires: string }[];
  };
  if (values.json) print(result);
  else {
    for (const { number, at, actor, summary, steps } of result.revisions)
      console.log(
        `${number}  ${at}  ${actor ?? 'server'}  ${summary} (${steps.length} ${steps.length === 1 ? 'step' : 'steps'})`,
      );
    for (const { name, records, expires } of result.tombstones)
      console.log(`kept: ${name}, ${records} ${records === 1 ? 'record' : 'records'}, until ${expires}`);
    if (result.revisions.length === 0) console.log('There is no revision yet.');
  }
  return commandExitCodes.done;
}

function print(value: unknown): void {
  console.log(JSON.stringify(value, null, 2));
}
