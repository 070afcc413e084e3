/** `tablinum user`, `key`, `app` and `jobs`: actions of the HTTP API, sent as the operator. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Config } from './base/config.ts';
import { commandExitCodes, describeUsage, UsageError } from './cli-commands.ts';
import { type OperatorConnection, withOperator } from './cli-operator.ts';

const options = {
  app: { type: 'string', default: 'main' },
  json: { type: 'boolean', default: false },
  role: { type: 'string' },
  name: { type: 'string' },
  expires: { type: 'string' },
  confirm: { type: 'string' },
  node: { type: 'string' },
  'password-stdin': { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>['values'];

interface Call {
  readonly connection: OperatorConnection;
  readonly values: Values;
  /** The name, address or id that the command line names; empty if it needs none. */
  readonly subject: string;
  /** A password from the standard input; null: one is generated. */
  readonly password: string | null;
}

/** One action. Its result is printed: records as a table, or everything as JSON. */
interface AdminAction {
  readonly subject: boolean;
  readonly flags: readonly (keyof Values)[];
  readonly run: (call: Call) => Promise<unknown>;
}

type Row = Readonly<Record<string, unknown>>;

const userFields = ['id', 'email', 'username', 'nickname', 'status', 'lastSignInAt'];
const passwordFlags = ['password-stdin'] as const;

const adminActions: Readonly<Record<string, AdminAction>> = {
  'user create': { subject: true, flags: ['role', ...passwordFlags], run: createUser },
  'user list': { subject: false, flags: [], run: listUsers },
  'user reset-password': { subject: true, flags: passwordFlags, run: resetPassword },
  'user suspend': { subject: true, flags: [], run: (call) => setStatus(call, 'suspended') },
  'user activate': { subject: true, flags: [], run: (call) => setStatus(call, 'active') },
  'key create': { subject: false, flags: ['role', 'name', 'expires'], run: createKey },
  'key list': { subject: false, flags: [], run: listKeys },
  'key revoke': { subject: true, flags: [], run: revokeKey },
  'app create': { subject: true, flags: [], run: createApplication },
  'app list': { subject: false, flags: [], run: listApplications },
  'app start': { subject: true, flags: [], run: (call) => changeApplication(call, 'start') },
  'app stop': { subject: true, flags: [], run: (call) => changeApplication(call, 'stop') },
  'app move': { subject: true, flags: ['node'], run: moveApplication },
  'app destroy': { subject: true, flags: ['confirm'], run: destroyApplication },
  'jobs list': { subject: false, flags: [], run: listJobs },
  'jobs cancel': { subject: true, flags: [], run: cancelJob },
};
const commonFlags: readonly string[] = ['app', 'json'];

/**
 * Runs a command.
 *
 * @returns the exit code.
 * @throws UsageError; Error with the message of a refusal.
 */
export async function runAdminCommand(command: string, args: readonly string[], config: Config): Promise<number> {
  const { values, positionals } = readArguments(command, args);
  const [name = '', subject = '', ...more] = positionals;
  const action = adminActions[`${command} ${name}`];
  if (!action || more.length > 0 || (subject !== '') !== action.subject) throw new UsageError(describeUsage(command));
  const allowed = [...commonFlags, ...action.flags];
  for (const flag of Object.keys(options) as (keyof Values)[])
    if (!allowed.includes(flag) && values[flag] !== undefined && values[flag] !== false)
      throw new UsageError(`--${flag} is not for "tablinum ${command} ${name}".\n${describeUsage(command)}`);
  if (command === 'key' && name === 'create' && config.appKeyIsRandom)
    throw new Error(
      'APP_KEY is not set, so a new key would be invalid after a restart. Set APP_KEY to a long random text.',
    );
  const password = values['password-stdin'] ? await readStandardInput() : null;
  const application = command === 'app' ? 'main' : values.app;
  const result = await withOperator(config, application, (connection) =>
    action.run({ connection, values, subject, password }),
  );
  console.log(values.json ? JSON.stringify(result, null, 2) : format(result));
  return commandExitCodes.done;
}

function readArguments(
  command: string,
  args: readonly string[],
): { readonly values: Values; readonly positionals: readonly string[] } {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${describeUsage(command)}`);
  }
}

async function readStandardInput(): Promise<string> {
  let text = '';
  for await (const piece of process.stdin) text += String(piece);
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw new Error('The standard input contains no password.');
  return password;
}

/** 144 random bits, without characters that are easily confused by shells. */
function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}

async function createUser({ connection, values, subject, password }: Call): Promise<unknown> {
  const chosen = password ?? generatePassword();
  const user = (await connection.call('users:create', {
    email: subject,
    password: chosen,
    ...(values.role !== undefined && { roles: [values.role] }),
  })) as Row;
  return { id: user['id'], email: user['email'], ...(password === null && { password: chosen }) };
}

function listUsers({ connection }: Call): Promise<unknown> {
  return listAll(connection, 'users', { appends: ['roles'] }, (user) => ({
    ...pick(user, userFields),
    roles: (user['roles'] as Row[] | undefined)?.map((each) => each['name']).join(' ') ?? '',
  }));
}

async function resetPassword({ connection, subject, password }: Call): Promise<unknown> {
  const chosen = password ?? generatePassword();
  const id = await findUser(connection, subject);
  await connection.call('users:update', { password: chosen }, { filterByTk: id });
  return { id, email: subject, ...(password === null && { password: chosen }) };
}

async function setStatus({ connection, subject }: Call, status: 'active' | 'suspended'): Promise<unknown> {
  const id = await findUser(connection, subject);
  await connection.call('users:update', { status }, { filterByTk: id });
  return { id, email: subject, status };
}

/** @throws Error if no user has the e-mail address. */
async function findUser(connection: OperatorConnection, email: string): Promise<string> {
  const found = (await connection.call('users:list', { filter: { email: email.toLowerCase() }, pageSize: 1 })) as Row[];
  const id = found[0]?.['id'];
  if (id === undefined) throw new Error(`No user has the e-mail address "${email}". See "tablinum user list".`);
  return String(id);
}

function createKey({ connection, values }: Call): Promise<unknown> {
  const { role, name, expires } = values;
  if (role === undefined) throw new UsageError(`--role is missing.\n${describeUsage('key')}`);
  if (expires !== undefined && expires !== 'never' && !/^[1-9]\d{0,3}[hdwmy]$/.test(expires))
    throw new UsageError('--expires must be a duration such as 12h, 30d, 6m or 1y (m is months), or never.');
  return connection.call('apiKeys:create', {
    role: { name: role },
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresIn: expires }),
  });
}

function listKeys({ connection }: Call): Promise<unknown> {
  const fields = ['id', 'name', 'role', 'createdAt', 'expiresAt', 'lastUsedAt', 'inactiveReason'];
  return listAll(connection, 'apiKeys', {}, (key) => pick(key, fields));
}

async function revokeKey({ connection, subject }: Call): Promise<unknown> {
  await connection.call('apiKeys:destroy', {}, { filterByTk: subject });
  return { id: subject, revoked: true };
}

async function createApplication({ connection, subject }: Call): Promise<unknown> {
  return pick((await connection.call('applications:create', { name: subject })) as Row, ['name', 'status']);
}

function listApplications({ connection }: Call): Promise<unknown> {
  return listAll(connection, 'applications', {}, (each) =>
    pick(each, ['name', 'displayName', 'status', 'node', 'createdAt']),
  );
}

async function changeApplication({ connection, subject }: Call, action: 'start' | 'stop'): Promise<unknown> {
  const changed = (await connection.call(`applications:${action}`, {}, { filterByTk: subject })) as Row | null;
  return { name: subject, status: changed?.['status'] ?? (action === 'stop' ? 'stopped' : 'running') };
}

const moveReadMilliseconds = 500;

/** Waits until the move has ended. @throws Error if it has failed. */
async function moveApplication({ connection, subject, values }: Call): Promise<unknown> {
  if (values.node === undefined) throw new UsageError(`--node is missing.\n${describeUsage('app')}`);
  const key = { filterByTk: subject };
  await connection.call('applications:move', { node: values.node }, key);
  for (;;) {
    const { node, move } = (await connection.call('applications:get', {}, key)) as Row;
    const { step, status, problem } = move as Row;
    if (status === 'failed') throw new Error(`"${subject}" is still on the node ${String(node)}. ${String(problem)}`);
    if (step === null) return { name: subject, node };
    await pause(moveReadMilliseconds);
  }
}

async function destroyApplication({ connection, subject, values }: Call): Promise<unknown> {
  if (values.confirm !== subject)
    throw new UsageError(
      `This deletes the application "${subject}" with all its data. Repeat the command with --confirm ${subject}.`,
    );
  await connection.call('applications:destroy', {}, { filterByTk: subject, confirm: subject });
  return { name: subject, destroyed: true };
}

function listJobs({ connection }: Call): Promise<unknown> {
  const fields = ['id', 'collection', 'status', 'rows', 'processed', 'refused', 'createdAt'];
  return listAll(connection, 'imports', { sort: ['-id'] }, (each) => ({ kind: 'import', ...pick(each, fields) }));
}

async function cancelJob({ connection, subject }: Call): Promise<unknown> {
  await connection.call('imports:cancel', {}, { filterByTk: subject });
  return { id: subject, status: 'cancelled' };
}

const pageSize = 100;

async function listAll(
  connection: OperatorConnection,
  resource: string,
  parameters: Row,
  show: (record: Row) => Row,
): Promise<Row[]> {
  const records: Row[] = [];
  for (let page = 1; ; page += 1) {
    const found = (await connection.call(`${resource}:list`, { ...parameters, pageSize, page })) as Row[];
    records.push(...found.map(show));
    if (found.length < pageSize) return records;
  }
}

function pick(record: Row, fields: readonly string[]): Row {
  return Object.fromEntries(fields.flatMap((name) => (name in record ? [[name, record[name]]] : [])));
}

/** Records as a table, one record as lines. Control characters, which a terminal could take for commands, are replaced. */
function format(result: unknown): string {
  if (!Array.isArray(result))
    return Object.entries(result as Row)
      .map(([name, value]) => `${name}: ${formatCell(value)}`)
      .join('\n');
  const rows = result as Row[];
  const names = Object.keys(rows[0] ?? {});
  if (rows.length === 0) return 'There are none.';
  const cells = [names, ...rows.map((row) => names.map((name) => formatCell(row[name])))];
  const widths = names.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function formatCell(value: unknown): string {
  const text =
    value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
