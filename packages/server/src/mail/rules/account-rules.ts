import { isoTime } from '../../base/clock.ts';
import type { Database, Transaction } from '../../database/database.ts';
import {
  deleteAccountSecrets,
  readMembers,
  readServers,
  setAccountSecrets,
  setMembers,
} from '../../database/mail/account-rows.ts';
import { forgetServer } from '../../database/mail/account-server-rows.ts';
import { correspondentsVersion, deletingStatus, threadsVersion } from '../../database/mail/account-status.ts';
import { closeAccount, isReferencedByRecord } from '../../database/mail/deferred-delete-rows.ts';
import { readAccountAddresses, setIdentities } from '../../database/mail/identity-rows.ts';
import { leaseNoticeMilliseconds, restartSync } from '../../database/mail/lease-rows.ts';
import { makeAccountDue } from '../../database/mail/outbox-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listRecords } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { findReferencesTo, mayReadReference } from '../../records/write/references.ts';
import { getField } from '../../schema/registry.ts';
import { requireRulePermissions } from '../automation/rule-permissions.ts';
import { parseVacation } from '../automation/vacation.ts';
import { accountSecrets } from '../collections/account-secrets.ts';
import { mailResources } from '../collections/mail-resources.ts';
import { parseOauthSettings } from '../connect/oauth-settings.ts';
import {
  completeIdentities,
  type IdentityInput,
  listSenderAddresses,
  parseIdentities,
} from '../delivery/identities.ts';
import { requireAccountMembersWritable } from './account-fields.ts';
import {
  type AccountSecretValues,
  checkSecrets,
  normaliseAddress,
  parseAddress,
  parseServer,
} from './account-values.ts';

/** Fields that the server sets. Values for them are ignored, so that a client can send back a record that it has read. */
const serverManaged = new Set([
  'status',
  'statusReason',
  'problem',
  'retryAt',
  'capabilities',
  'backfillDone',
  'backfillTotal',
  'bodiesWaiting',
  'lastSyncAt',
  'mailboxes',
]);

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
    requireAccountMembersWritable(context, key === null ? 'create' : 'update', Object.keys(body));
    const row: Record<string, unknown> = { ...rest };
    const given = checkSecrets(Object.fromEntries(clientEntries.filter(([name]) => accountSecrets.has(name))));
    for (const name of ['imap', 'smtp']) if (row[name] != null) row[name] = parseServer(name, row[name], context.mail);
    if (row['oauth'] !== undefined) row['oauth'] = parseOauthSettings(row['oauth']);
    if (row['address'] !== undefined) row['address'] = parseAddress(row['address']);
    if (row['aliases'] !== undefined) row['aliases'] = parseAliases(row['aliases']);
    const identities = row['identities'] === undefined ? null : await readIdentities(row['identities']);
    delete row['identities'];
    if (row['authservIds'] !== undefined) row['authservIds'] = parseAuthservIds(row['authservIds']);
    if (row['vacation'] !== undefined) row['vacation'] = parseAccountVacation(row['vacation'], context);
    const members = givenMembers === undefined ? null : await readMemberKeys(givenMembers, context);
    const isMine = key === null && row['ownerId'] === undefined && row['owner'] === undefined;
    const serverValues = {
      ...(isMine && { ownerId: requireOwnerId(context) }),
      // A new account contains nothing that an earlier server version has stored.
      ...(key === null && { threadsVersion, correspondentsVersion }),
    };
    return {
      body: row,
      serverValues,
      afterWrite: async (transaction, id) => {
        await setMembers(context.database, transaction, id as number, members);
        await storeSecrets(context, transaction, id as number, given);
        const isReaddressed = key === null || identities !== null || 'aliases' in row || 'address' in row;
        if (isReaddressed) await updateIdentities(context.database, transaction, id as number, identities);
        if (['smtp', 'auth', 'oauth'].some((name) => row[name] != null) || Object.keys(given).length > 0)
          await sendWaiting(context, transaction, id as number);
        const isRestarted = ['imap', 'auth', 'since'].some((name) => name in row) || Object.keys(given).length > 0;
        if (isRestarted) await restart(context, transaction, id as number);
        return [
          ...(key === null || members !== null ? ['members'] : []),
          ...(isReaddressed ? ['identities'] : []),
          ...(isRestarted ? ['status', 'problem', 'retryAt'] : []),
        ];
      },
    };
  },

  /** A password or token belongs to the servers and the address that it was given for. Naming others deletes it. */
  async guard({ transaction, action, keys, body, context }) {
    const { database } = context;
    const accounts = keys as readonly number[];
    if (action === 'destroy') {
      for (const key of accounts) await refuseReferenced(context, transaction, key);
      return async () => {
        for (const key of accounts) await closeAccount(database, transaction, key);
        transaction.afterDurable(() => context.mail.wakeAccountDeletion());
      };
    }
    if (body && serverFields.some((name) => name in body))
      await dropMisdirectedSecrets(context, transaction, accounts, body);
    if (typeof body?.['address'] === 'string')
      await dropSecretsOfAddress(context, transaction, accounts, body['address']);
    return doNothing;
  },

  readLinks: (transaction, key, { database }) => readMembers(database, transaction, key as number),

  deferredDelete: { status: deletingStatus },
};

/** With other settings, the account is synchronised again from its first step. */
async function restart({ database, clock, mail }: RecordContext, transaction: Transaction, id: number): Promise<void> {
  await restartSync(database, transaction, id, isoTime(clock.now() + leaseNoticeMilliseconds));
  transaction.afterDurable(() => mail.wakeSync());
}

async function updateIdentities(
  database: Database,
  transaction: Transaction,
  account: number,
  names: readonly IdentityInput[] | null,
): Promise<void> {
  const addresses = await readAccountAddresses(database, transaction, account);
  if (addresses) await setIdentities(database, transaction, account, completeIdentities(addresses, names));
}

/** The identities of a request, with sanitised signatures. */
async function readIdentities(input: unknown): Promise<readonly IdentityInput[]> {
  const identities = parseIdentities(input, normaliseAddress);
  if (!identities.some(({ signature }) => signature?.html)) return identities;
  const { sanitiseHtml } = await import('../html/sanitise-html.ts'); // loaded on demand: few requests contain HTML
  return identities.map((identity) => {
    const { signature } = identity;
    return signature?.html
      ? { ...identity, signature: { ...signature, html: sanitiseHtml(signature.html).html } }
      : identity;
  });
}

const doNothing = async (): Promise<void> => {};

/** Fields that name the servers to which secrets are sent. */
const serverFields = ['imap', 'smtp', 'oauth'];

/** Other settings may make it possible to send what waits, so the next attempt is made now. */
async function sendWaiting(
  { database, mail, clock }: RecordContext,
  transaction: Transaction,
  account: number,
): Promise<void> {
  await makeAccountDue(database, transaction, account, isoTime(clock.now()));
  transaction.afterDurable(() => mail.wakeDelivery());
}

/** Deletes the secrets of accounts that are about to get other servers, and what is known about the former ones. */
async function dropMisdirectedSecrets(
  { database }: RecordContext,
  transaction: Transaction,
  accounts: readonly number[],
  body: Body,
): Promise<void> {
  for (const key of accounts) {
    const before = await readServers(database, transaction, key);
    const after = { ...before, ...pick(body, serverFields) };
    if (JSON.stringify(after) === JSON.stringify(before)) continue;
    await deleteAccountSecrets(database, transaction, key);
    // UIDs and waiting changes mean nothing to another server.
    if (before.imap !== null && !isSameMailbox(before.imap, after.imap)) await forgetServer(database, transaction, key);
  }
}

/**
 * Deletes the secrets of accounts that are about to get an address at which they have not proved to receive mail. Otherwise a member
 * who does not know the password could send as any address of the server, without verifying it as an alias.
 */
async function dropSecretsOfAddress(
  { database }: RecordContext,
  transaction: Transaction,
  accounts: readonly number[],
  address: string,
): Promise<void> {
  for (const key of accounts) {
    const before = await readAccountAddresses(database, transaction, key);
    if (before && !listSenderAddresses(before).has(address.toLowerCase()))
      await deleteAccountSecrets(database, transaction, key);
  }
}

/** Whether two settings name the same mailboxes: those of one user on one host. */
function isSameMailbox(one: unknown, second: unknown): boolean {
  const name = (server: unknown): string =>
    isObject(server) ? JSON.stringify([String(server['host']).toLowerCase(), server['user'] ?? null]) : '';
  return name(one) === name(second);
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
  given: AccountSecretValues,
): Promise<void> {
  const encrypted = Object.entries(given).map(
    ([field, secret]) => [field, secret === null ? null : mail.encryptSecret(secret, account, field)] as const,
  );
  if (encrypted.length > 0) await setAccountSecrets(database, transaction, account, Object.fromEntries(encrypted));
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

const maxAuthservIds = 10;

/** Names of the account's mail server, each once, in lower case; null for an empty list. */
function parseAuthservIds(input: unknown): readonly string[] | null {
  const isName = (each: unknown): boolean => typeof each === 'string' && /^[\w.:-]{1,253}$/.test(each);
  if (input === null) return null;
  if (!Array.isArray(input) || input.length > maxAuthservIds || !input.every(isName))
    throw invalidValues({
      authservIds: `Give a list of at most ${maxAuthservIds} server names, such as ["mx.example.com"], or null.`,
    });
  return input.length === 0 ? null : [...new Set(input.map((each: string) => each.toLowerCase()))];
}

/** A vacation reply writes messages, so the role must be allowed to do that. */
function parseAccountVacation(input: unknown, context: RecordContext): unknown {
  const vacation = parseVacation(input);
  if (vacation?.enabled) requireRulePermissions(context, { conditions: [], actions: [{ type: 'reply', ...vacation }] });
  return vacation;
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
