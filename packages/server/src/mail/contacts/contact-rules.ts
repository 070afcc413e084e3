/** The rules for writes of contacts by clients. */
import { isoTime } from '../../base/clock.ts';
import type { Transaction } from '../../database/database.ts';
import {
  ContactRows,
  findMergedContact,
  readContactAddresses,
  type StoredContact,
  setEdited,
} from '../../database/mail/contact-rows.ts';
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
  if (key === null) delete row['otherAddresses'];
  else if ('otherAddresses' in row) row['otherAddresses'] = parseOtherAddresses(row['otherAddresses']);
  const prepared = await completeAccount(row, key, context);
  const afterWrite = async (transaction: Transaction, id: unknown): Promise<readonly string[]> => {
    if ('address' in row) await requireUnmerged(context, transaction, id as number);
    if (key === null) return [];
    return (await setEdited(context.database, transaction, id as number)) ? ['automatic'] : [];
  };
  return { body: prepared, afterWrite };
}

/** @throws ApiError 422 */
function parseOtherAddresses(input: unknown): string[] | null {
  if (input === null) return null;
  if (!Array.isArray(input) || !input.every((each) => typeof each === 'string')) throw onlyRemovable();
  return [...new Set(input.map((each) => each.trim().toLowerCase()))];
}

function onlyRemovable(): ApiError {
  return invalidValues({
    otherAddresses: 'Give a list without the addresses to remove. Only contacts:merge adds addresses.',
  });
}

/** @throws ApiError `UNIQUE_CONFLICT` if the address of a contact has been merged into another one. */
async function requireUnmerged({ database }: RecordContext, transaction: Transaction, id: number): Promise<void> {
  const owner = await findMergedContact(database, transaction, id);
  if (owner !== null)
    throw new ApiError(
      'UNIQUE_CONFLICT',
      `The address is one of "otherAddresses" of the contact ${owner}. Change that contact, or remove the address from it first.`,
    );
}

/** Stores the addresses that are removed, so that older mail does not create contacts for them again. */
async function guardContacts({ transaction, action, keys, body, context }: GuardedWrite): Promise<void> {
  if (action === 'update' && !['address', 'accountId', 'otherAddresses'].some((name) => body && name in body)) return;
  const { database, clock } = context;
  const before = await readContactAddresses(database, transaction, keys);
  requireSameAccount(
    body,
    before.map(({ account }) => account),
  );
  const removed = before.map((contact) => ({ account: contact.account, addresses: listRemoved(contact, body) }));
  for (const { account, addresses } of removed)
    if (addresses.length > 0)
      await new ContactRows(database, transaction, account).addRemovals(addresses, isoTime(clock.now()));
}

/** The addresses that a contact loses by an update, or by a destroy (without a body). @throws ApiError 422 for added ones. */
function listRemoved({ address, otherAddresses }: StoredContact, body: Body | null): string[] {
  if (body === null) return [address, ...otherAddresses];
  const remaining = 'otherAddresses' in body ? ((body['otherAddresses'] ?? []) as string[]) : otherAddresses;
  if (remaining.some((each) => !otherAddresses.includes(each))) throw onlyRemovable();
  const replaced = 'address' in body && body['address'] !== address ? [address] : [];
  return [...replaced, ...otherAddresses.filter((each) => !remaining.includes(each))];
}
