/** The rules for writes of contacts by clients. */
import { isoTime } from '../../base/clock.ts';
import type { Transaction } from '../../database/database.ts';
import { ContactRows, readContactAddresses, setEdited } from '../../database/mail/contact-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, GuardedWrite, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { parseMailAddress } from '../compose/mail-input.ts';
import { completeAccount, requireSameAccount } from './contact-account.ts';

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set(['automatic', 'createdAt', 'updatedAt']);

/** Contacts: mail does not change edits of users, and older mail does not create a destroyed contact again. */
export const contactRules: RecordRules = { changesAccess: false, prepare: prepareContact, guard: guardContacts };

/** Checks and completes the body of a write. `key` is null on create. */
async function prepareContact(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody> {
  if (!isObject(body)) return { body: body as Body };
  if ('groups' in body)
    throw new ApiError(
      'SYSTEM_PROTECTED',
      '"groups" of a contact cannot be written. Write "members" of contactGroups instead.',
    );
  const row: Record<string, unknown> = Object.fromEntries(
    Object.entries(body).filter(([name]) => !serverManaged.has(name)),
  );
  for (const name of ['name', 'company', 'phone']) if (typeof row[name] === 'string') row[name] = row[name].trim();
  if (row['name'] === null) row['name'] = '';
  // The name is put into the headers of messages.
  if (typeof row['name'] === 'string' && /\p{Cc}/u.test(row['name']))
    throw invalidValues({ name: 'Give a name of at most 200 characters on one line.' });
  if (key === null || 'address' in row) {
    const parsed = parseMailAddress(row['address']);
    if (!parsed) throw invalidValues({ address: 'Give one e-mail address, such as ann@example.com.' });
    row['address'] = parsed.address.toLowerCase();
    if (row['name'] === undefined && parsed.name) row['name'] = parsed.name;
  }
  const prepared = await completeAccount(row, key, context);
  if (key === null) return { body: prepared };
  const afterWrite = async (transaction: Transaction, id: unknown): Promise<readonly string[]> =>
    (await setEdited(context.database, transaction, id as number)) ? ['automatic'] : [];
  return { body: prepared, afterWrite };
}

/** Stores the addresses that are removed, so that older mail does not create contacts for them again. */
async function guardContacts({ transaction, action, keys, body, context }: GuardedWrite): Promise<void> {
  if (action === 'update' && !['address', 'accountId'].some((name) => body && name in body)) return;
  const { database, clock } = context;
  const before = await readContactAddresses(database, transaction, keys);
  requireSameAccount(
    body,
    before.map(({ account }) => account),
  );
  if (action === 'update' && !(body && 'address' in body)) return;
  const removed = before.filter(({ address }) => address !== body?.['address']);
  for (const [account, list] of Map.groupBy(removed, (each) => each.account))
    await new ContactRows(database, transaction, account).addRemovals(
      list.map(({ address }) => address),
      isoTime(clock.now()),
    );
}
