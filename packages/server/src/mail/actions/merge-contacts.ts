/** `contacts:merge`: makes one contact of several, with the addresses and groups of all of them. */
import {
  ContactRows,
  readContactAddresses,
  readGroupsOfContacts,
  type StoredContact,
} from '../../database/mail/contact-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { normaliseRequest, requestByKeys } from '../../protocol/request-normaliser.ts';
import { listRecords, requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { changeLinks, requireLinkRights } from '../../records/relations/links.ts';
import { resolveRelation } from '../../records/relations/related-parent.ts';
import { destroyRecords, updateRecords } from '../../records/write/write-records.ts';
import { contactRules } from '../contacts/contact-rules.ts';
import { type BodyValues, type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/** Fields for which the first text that is not empty is taken. */
const singleTexts = ['name', 'company', 'phone'] as const;
const texts = [...singleTexts, 'notes'] as const;

/** A contact as the caller sees it. */
type VisibleContact = Readonly<Record<string, unknown>> & { readonly id: number };

/**
 * Merges contacts. The merged contact keeps the key `id`. Its empty texts are taken from `others`, in their order,
 * unless `values` gives them; the notes of all are joined. The others are destroyed, and their addresses become
 * `otherAddresses`.
 *
 * @throws ApiError 403 unless the caller may update the one contact and destroy the others.
 */
export async function runMergeContacts(request: MailRequest): Promise<MailData> {
  const { context } = request;
  const contacts = context.registry.get('contacts');
  requireGrant(context, contacts, 'list');
  requireGrant(context, contacts, 'destroy');
  requireGrant(context, contacts, 'update');
  request.knownParameters([], true);
  const { id, others, values } = parseMerge(readBodyObject(request, ['id', 'others', 'values']));
  const [target] = await listContacts(context, [id, ...others]);
  const lockKey = `mail ${Number(target?.['accountId'] ?? 0)}`;
  return request.write({ lockKey }, async (tx) => {
    const visible = await listContacts(tx, [id, ...others]);
    const stored = await readContactAddresses(tx.database, tx.tx, [id, ...others]);
    const { account, otherAddresses } = joinAddresses(id, stored);
    await joinGroups(tx, id, others);
    await destroyRecords(tx, contacts, requestByKeys('destroy', others), { rules: contactRules });
    const rows = new ContactRows(tx.database, tx.tx, account);
    await rows.assignAddresses(otherAddresses, id);
    const { data } = await updateRecords(tx, contacts, requestByKeys('update', id), {
      body: { ...joinTexts(visible), ...values },
      rules: withOtherAddresses(otherAddresses),
    });
    return { data };
  });
}

/** @throws ApiError 422 naming the wrong member. */
function parseMerge({ id, others, values = {} }: BodyValues): {
  readonly id: number;
  readonly others: readonly number[];
  readonly values: BodyValues;
} {
  const isKey = (each: unknown): each is number => Number.isSafeInteger(each) && (each as number) > 0;
  if (!isKey(id)) throw invalidValues({ id: 'Give the id of the contact that is kept.' });
  const max = mailLimits.mergedContacts;
  if (!Array.isArray(others) || others.length === 0 || others.length > max || !others.every(isKey))
    throw invalidValues({
      others: `Give a list of 1 to ${max} ids of contacts that are merged into the contact "id".`,
    });
  if (others.includes(id) || new Set(others).size < others.length)
    throw invalidValues({ others: 'Name each contact once, and not the contact "id".' });
  if (!isObject(values) || !Object.keys(values).every((name) => (texts as readonly string[]).includes(name)))
    throw invalidValues({ values: `Give an object with any of ${texts.map((name) => `"${name}"`).join(', ')}.` });
  return { id, others, values };
}

/** Contacts in the order of their keys. @throws ApiError `REFERENCE_MISSING` if the caller does not see all of them. */
async function listContacts(context: RecordContext, keys: readonly number[]): Promise<VisibleContact[]> {
  const request = normaliseRequest('list', { filterByTk: keys, pageSize: keys.length, count: 'none' }, false);
  const { data } = await listRecords(context, context.registry.get('contacts'), request);
  const found = new Map((JSON.parse(data) as VisibleContact[]).map((each) => [each.id, each]));
  return keys.map((key) => {
    const contact = found.get(key);
    if (contact) return contact;
    throw new ApiError('REFERENCE_MISSING', `The contact ${key} does not exist, or you cannot see it.`);
  });
}

/** The addresses that the contact has besides its own. @throws ApiError 422 for contacts of different accounts. */
function joinAddresses(
  id: number,
  contacts: readonly StoredContact[],
): { readonly account: number; readonly otherAddresses: readonly string[] } {
  const target = contacts.find((each) => each.id === id);
  if (!target || contacts.some(({ account }) => account !== target.account))
    throw invalidValues({ others: 'All contacts must belong to the same account.' });
  const all = contacts.flatMap((each) => [...(each === target ? [] : [each.address]), ...each.otherAddresses]);
  const otherAddresses = [...new Set(all)].sort();
  if (otherAddresses.length > mailLimits.otherAddresses)
    throw invalidValues({ others: `A contact has at most ${mailLimits.otherAddresses} other addresses.` });
  return { account: target.account, otherAddresses };
}

/** The texts that the first contact takes from the others. */
function joinTexts(contacts: readonly VisibleContact[]): Record<string, string> {
  const [target, ...others] = contacts;
  const joined: Record<string, string> = {};
  const listTexts = (name: string): string[] =>
    contacts.flatMap((each) => (typeof each[name] === 'string' && each[name] !== '' ? [each[name]] : []));
  for (const name of singleTexts) {
    const [first] = listTexts(name);
    if (first !== undefined && first !== target?.[name]) joined[name] = first;
  }
  const notes = [...new Set(listTexts('notes'))].join('\n\n');
  if (others.some((each) => each['notes']) && notes !== target?.['notes']) joined['notes'] = notes;
  return joined;
}

/** Adds the contact to the groups of the others. @throws ApiError 403 for groups that the caller may not change. */
async function joinGroups(tx: TransactionContext, id: number, others: readonly number[]): Promise<void> {
  const memberships = await readGroupsOfContacts(tx.database, tx.tx, [id, ...others]);
  const own = new Set(memberships.filter(({ contact }) => contact === id).map(({ group }) => group));
  const groups = new Set(memberships.map(({ group }) => group).filter((group) => !own.has(group)));
  const collection = tx.registry.get('contactGroups');
  for (const group of groups) {
    const members = resolveRelation(tx, collection, 'members', group);
    requireLinkRights(tx, members);
    await changeLinks(tx, members, { action: 'add', links: [{ key: id, join: null }] });
  }
}

/**
 * The rules of contacts for a merge. They add addresses, and have no guard, because it ran when the others were
 * destroyed.
 */
function withOtherAddresses(otherAddresses: readonly string[]): RecordRules {
  const prepare: RecordRules['prepare'] = async (body, key, context) => {
    const prepared = await contactRules.prepare?.(body, key, context);
    return { ...prepared, body: { ...prepared?.body, otherAddresses } };
  };
  return { changesAccess: false, prepare };
}
