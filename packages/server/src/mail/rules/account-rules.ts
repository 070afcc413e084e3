import type { Transaction } from '../../database/database.ts';
import {
  deleteAccountSecrets,
  readMembers,
  readServers,
  setAccountSecrets,
  setMembers,
} from '../../database/mail/account-rows.ts';
import { deletingStatus, threadsVersion } from '../../database/mail/account-status.ts';
import { closeAccount, isReferencedByRecord } from '../../database/mail/deferred-delete-rows.ts';
import { isEmail, normaliseEmail } from '../../identity/sign-in.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listRecords } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { findReferencesTo, mayReadReference } from '../../records/write/references.ts';
import { getField } from '../../schema/registry.ts';
import { accountSecrets } from '../collections/account-secrets.ts';
import { mailResources } from '../collections/mail-resources.ts';

/** Fields that the server sets. Values for them are ignored, so that a client can send back a record that it has read. */
const serverManaged = new Set(['status', 'statusReason', 'backfillDone', 'backfillTotal', 'lastSyncAt', 'mailboxes']);

/** Mail accounts. The caller who creates an account owns it, and the owner is always a member. */
export const accountRules: RecordRules = {
  changesAccess: false,
  heavy: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const clientEntries = Object.entries(body).filter(([name]) => !serverManaged.has(name));
    const { members: givenMembers, ...rest } = Object.fromEntries(
      clientEntries.filter(([name]) => !accountSecrets.has(name)),
    );
    const row: Record<string, unknown> = { ...rest };
    const given = checkSecrets(Object.fromEntries(clientEntries.filter(([name]) => accountSecrets.has(name))));
    for (const name of ['imap', 'smtp']) if (row[name] != null) row[name] = parseServer(name, row[name], context);
    if (row['address'] !== undefined) row['address'] = parseAddress(row['address']);
    if (row['aliases'] !== undefined) row['aliases'] = parseAliases(row['aliases']);
    const members = givenMembers === undefined ? null : await readMemberKeys(givenMembers, context);
    const isMine = key === null && row['ownerId'] === undefined && row['owner'] === undefined;
    const serverValues = {
      ...(isMine && { ownerId: requireOwnerId(context) }),
      // A new account contains nothing that an earlier server version has stored.
      ...(key === null && { threadsVersion }),
    };
    return {
      body: row,
      serverValues,
      afterWrite: async (transaction, id) => {
        await setMembers(context.database, transaction, id as number, members);
        await storeSecrets(context, transaction, id as number, given);
      },
    };
  },

  /** A password belongs to the servers that it was given for. Naming other servers deletes it, so that it is not sent to them. */
  async guard(transaction, action, keys, body, context) {
    const { database } = context;
    const accounts = keys as readonly number[];
    if (action === 'destroy') {
      for (const key of accounts) await refuseReferenced(context, transaction, key);
      return async () => {
        for (const key of accounts) await closeAccount(database, transaction, key);
        transaction.afterDurable(() => context.mail.wakeAccountDeletion());
      };
    }
    if (body && ('imap' in body || 'smtp' in body)) await dropMisdirectedSecrets(context, transaction, accounts, body);
    return doNothing;
  },

  readLinks: (transaction, key, { database }) => readMembers(database, transaction, key as number),

  deferredDelete: { status: deletingStatus },
};

const doNothing = async (): Promise<void> => {};

/** Deletes the secrets of accounts that are about to get other servers. */
async function dropMisdirectedSecrets(
  { database }: RecordContext,
  transaction: Transaction,
  accounts: readonly number[],
  body: Body,
): Promise<void> {
  for (const key of accounts) {
    const before = await readServers(database, transaction, key);
    const after = { ...before, ...pick(body, ['imap', 'smtp']) };
    if (JSON.stringify(after) !== JSON.stringify(before)) await deleteAccountSecrets(database, transaction, key);
  }
}

/** @throws ApiError `DEPENDANTS_EXIST` where a record of another collection refers to a record of the account by a restricting foreign key. */
async function refuseReferenced(context: RecordContext, transaction: Transaction, account: number): Promise<void> {
  const { database, registry } = context;
  for (const name of mailResources) {
    const parent = registry.get(name);
    for (const reference of findReferencesTo(parent, registry)) {
      const { child, field } = reference;
      const { onDelete, field: named } = field.references!;
      if (onDelete !== 'restrict') continue;
      const foreignKey = { table: child.table, column: field.column! };
      const referencedKey = { table: parent.table, column: getField(parent, named).column! };
      if (!(await isReferencedByRecord(database, transaction, account, { child: foreignKey, parent: referencedKey })))
        continue;
      const who = mayReadReference(context, reference)
        ? `Records of ${child.name} depend on its ${name} by "${field.name}"`
        : 'Other records depend on records of the account';
      throw new ApiError('DEPENDANTS_EXIST', `${who}; remove or change them first.`);
    }
  }
}

function pick(body: Body, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter((name) => name in body).map((name) => [name, body[name]]));
}

async function storeSecrets(
  { database, mail }: RecordContext,
  transaction: Transaction,
  account: number,
  given: Secrets,
): Promise<void> {
  const encrypted = Object.entries(given).map(
    ([field, secret]) => [field, secret === null ? null : mail.encryptSecret(secret, account, field)] as const,
  );
  if (encrypted.length > 0) await setAccountSecrets(database, transaction, account, Object.fromEntries(encrypted));
}

type Secrets = Record<string, string | null>;

/** The secrets of a body, checked; null deletes a secret. Secrets are never shown. */
function checkSecrets(given: Readonly<Record<string, unknown>>): Secrets {
  const details: Record<string, string> = {};
  const secrets: Secrets = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (value === null || (typeof value === 'string' && value.length >= 1 && value.length <= 4096))
      secrets[name] = value;
    else details[name] = 'Give a text of 1 to 4096 characters, or null.';
  }
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return secrets;
}

const securityModes = ['tls', 'starttls', 'none'];

/** `{host, port, security, user}`: the server that the account receives or sends mail by. */
function parseServer(name: string, input: unknown, { mail }: RecordContext): unknown {
  const details: Record<string, string> = {};
  const note = (member: string, problem: string | null): void => {
    if (problem !== null) details[`${name}.${member}`] = problem;
  };
  if (!isObject(input)) throw invalidValues({ [name]: 'Give {"host", "port", "security", "user"}.' });
  const { host, port, security = 'tls', user = null, ...unknownMembers } = input;
  for (const other of Object.keys(unknownMembers))
    note(other.slice(0, 60), 'No such property; host, port, security and user are known.');
  note(
    'host',
    typeof host === 'string' ? mail.hostProblem(host) : 'Give the name of a host, such as imap.example.com.',
  );
  if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65_535)
    note('port', 'Give a port, such as 993.');
  if (!securityModes.includes(security as string)) note('security', 'Give tls, starttls or none.');
  if (user !== null && (typeof user !== 'string' || user.length > 320 || /\p{Cc}/u.test(user)))
    note('user', 'Give a name of at most 320 characters on one line.');
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return { host, port, security, user };
}

function parseAddress(input: unknown): unknown {
  if (typeof input !== 'string') return input; // its schema says what is wrong
  const address = normaliseAddress(input);
  if (address !== null) return address;
  throw invalidValues({ address: 'Give one e-mail address, such as ann@example.com.' });
}

/** An address as it is stored; null for text that is no address, or that could end a header. */
function normaliseAddress(input: unknown): string | null {
  if (typeof input !== 'string') return null;
  const address = normaliseEmail(input);
  return isEmail(address) && !/[\p{Cc},;<>"]/u.test(address) ? address : null;
}

/** Other addresses of the account, each once; null for an empty list. */
function parseAliases(input: unknown): readonly string[] | null {
  if (input === null) return null;
  if (!Array.isArray(input) || input.length > mailLimits.aliases)
    throw invalidValues({
      aliases: `Give a list of at most ${mailLimits.aliases} e-mail addresses, such as ["support@example.com"].`,
    });
  const details: Record<string, string> = {};
  const addresses = input.map((each: unknown, index) => {
    const address = normaliseAddress(each);
    if (address === null) details[`aliases.${index}`] = 'Give one e-mail address, such as support@example.com.';
    return address ?? '';
  });
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return addresses.length === 0 ? null : [...new Set(addresses)];
}

/** The user who creates the account. A credential without a user would create an account that nobody can see. */
function requireOwnerId({ caller }: RecordContext): number {
  const id = caller.user?.['id'];
  if (typeof id === 'number') return id;
  throw invalidValues({ ownerId: 'Name the owner: this credential belongs to no user.' });
}

/** The keys of users whom the caller may get. */
async function readMemberKeys(input: unknown, context: RecordContext): Promise<number[]> {
  const list = input === null ? [] : Array.isArray(input) ? input : [input];
  const keys = list.map((each: unknown) => (isObject(each) ? each['id'] : each));
  if (!keys.every((each): each is number => Number.isSafeInteger(each)) || keys.length > 1000)
    throw invalidValues({ members: 'Give a list of ids of users, at most 1000.' });
  const wanted = [...new Set(keys)];
  if (wanted.length === 0) return [];
  const request = normaliseRequest(
    'list',
    { filterByTk: wanted, fields: ['id'], pageSize: 1000, count: 'none' },
    false,
  );
  const { data } = await listRecords(context, context.registry.get('users'), request);
  if ((JSON.parse(data) as unknown[]).length < wanted.length)
    throw new ApiError('REFERENCE_MISSING', '"members" names a user who does not exist, or whom you cannot see.');
  return wanted;
}
