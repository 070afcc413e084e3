import { forgetWords, setMembers } from '../../database/mail/account-rows.ts';
import { emailForm, isEmail } from '../../identity/sign-in.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listRecords } from '../read-records.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';

/** Told by the server; passed over, so that a record that was read can be sent back whole. */
const told = new Set(['status', 'statusReason', 'backfillDone', 'backfillTotal', 'lastSyncAt', 'mailboxes']);

/** Mail accounts: whoever makes one owns it, and its owner is always among its members. */
export const accountRules: RecordRules = {
  access: false,

  async prepare(body, key, context): Promise<RuledBody> {
    if (!isObject(body)) return { body: body as Body };
    const { members: named, ...rest } = Object.fromEntries(Object.entries(body).filter(([name]) => !told.has(name)));
    const row: Record<string, unknown> = { ...rest };
    if (row['address'] !== undefined) row['address'] = addressOf(row['address']);
    const members = named === undefined ? null : await memberKeys(named, context);
    const isMine = key === null && row['ownerId'] === undefined && row['owner'] === undefined;
    return {
      body: row,
      ...(isMine && { own: { ownerId: ownId(context) } }),
      beside: (transaction, id) => setMembers(context.database, transaction, id as number, members),
    };
  },

  async guard(transaction, action, keys, _body, { database }): Promise<void> {
    if (action !== 'destroy') return;
    for (const key of keys) await forgetWords(database, transaction, key as number);
  },
};

function addressOf(input: unknown): unknown {
  if (typeof input !== 'string') return input; // its schema says what is wrong
  const address = emailForm(input);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no header is to be ended by an address
  if (isEmail(address) && !/[\u0000-\u001f\u007f,;<>"]/.test(address)) return address;
  throw invalidValues({ address: 'Give one e-mail address, such as ann@example.com.' });
}

/** Who is nobody can own nothing, and would make an account that nobody sees. */
function ownId({ caller }: RecordContext): number {
  const id = caller.user?.['id'];
  if (typeof id === 'number') return id;
  throw invalidValues({ ownerId: 'Name the owner: this credential belongs to no user.' });
}

/** The keys of users whom the caller may get. */
async function memberKeys(input: unknown, context: RecordContext): Promise<number[]> {
  const list = input === null ? [] : Array.isArray(input) ? input : [input];
  const keys = list.map((each: unknown) => (isObject(each) ? each['id'] : each));
  if (!keys.every((each): each is number => Number.isSafeInteger(each)) || keys.length > 1000)
    throw invalidValues({ members: 'Give a list of ids of users, at most 1000.' });
  const wanted = [...new Set(keys)];
  if (wanted.length === 0) return [];
  const asked = normaliseRequest('list', { filterByTk: wanted, fields: ['id'], pageSize: 1000, count: 'none' }, false);
  const { data } = await listRecords(context, context.registry.get('users'), asked);
  if ((JSON.parse(data) as unknown[]).length < wanted.length)
    throw new ApiError('REFERENCE_MISSING', 'members: not every user that is named exists.');
  return wanted;
}
