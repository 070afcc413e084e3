/**
 * The links of a relation: the records that it references, and changes of them. A change needs the grants of what it writes:
 * of the record with the foreign key, or for a many-to-many relation of the record whose relation it is.
 */
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import { normaliseRequest, requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { invalidOperand } from '../../schema/field-type.ts';
import { type Collection, getField, type JoinFields } from '../../schema/registry.ts';
import { readFieldValues } from '../read/field-values.ts';
import { listRecords, requireGrant } from '../read/read-records.ts';
import type { RecordContext, TransactionContext } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { withGrants } from '../with-grants.ts';
import { createRecords, destroyRecords, updateRecords } from '../write/write-records.ts';
import { type RecordRelation, readSourceValue, requireLinkable } from './related-parent.ts';

/** What a link action does: `set` replaces all links of the relation, `toggle` adds or removes one. */
export type LinkAction = 'set' | 'add' | 'remove' | 'toggle';

/** A record to link, and the values of its join record besides the two keys. */
export interface Link {
  readonly key: unknown;
  readonly join: Readonly<Record<string, unknown>> | null;
}

/** A change of the links of a relation. */
export interface LinkChange {
  readonly action: LinkAction;
  readonly links: readonly Link[];
}

/** Join records are part of the record whose relation they are: its update grant decides, not a grant on the join. */
const joinGrant: Grant = { identity: 'links', rows: null, may: (field) => !field.hidden };

/**
 * Parses the targets of a link action: keys, objects that hold the key, or pairs `[key, {join values}]`.
 *
 * @throws ApiError 400 for a value that is not a key of the target.
 */
export function parseLinks(input: unknown, { target, relation }: RecordRelation): Link[] {
  const list = input === null || input === undefined ? [] : Array.isArray(input) ? input : [input];
  if (list.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `One action links at most ${limits.bulkRecords} records.`);
  const links = list.map((each: unknown) => {
    const [named, join] = Array.isArray(each) ? [each[0], each[1]] : [each, null];
    if (Array.isArray(each) && (each.length !== 2 || relation.through === null || !isObject(join)))
      throw new ApiError(
        'BODY_INVALID',
        'A pair is [key, {values of the join}]. Only many-to-many relations take pairs.',
      );
    return { key: parseLinkKey(named, target), join: join as Link['join'] };
  });
  return [...new Map(links.map((link) => [String(link.key), link])).values()];
}

function parseLinkKey(named: unknown, target: Collection): unknown {
  const { name, type } = target.primaryKey;
  const members = isObject(named) ? Object.keys(named) : null;
  const plain = members === null ? named : members.length === 1 ? (named as Record<string, unknown>)[name] : undefined;
  const key =
    plain === undefined || plain === null || isObject(plain) || Array.isArray(plain)
      ? invalidOperand
      : type.readOperand(plain, true);
  if (key === invalidOperand)
    throw new ApiError('BODY_INVALID', `Name records of ${target.name} by their key, or by {"${name}": …}.`);
  return key;
}

/**
 * Checks the grants of a link action before any record is read: on the relation of the record, or for hasMany and hasOne on
 * the foreign key of the target.
 *
 * @throws ApiError 403.
 */
export function requireLinkRights(context: RecordContext, related: RecordRelation): void {
  const { relation, source, target } = related;
  if (relation.kind === 'belongsTo' || relation.through) {
    requireWritableRelation(context, related);
    return;
  }
  requireGrant(context, source, 'get');
  const foreignKey = getField(target, relation.targetField);
  if (!requireGrant(context, target, 'update').may(foreignKey))
    throw new ApiError('FIELD_DENIED', `The role may not write "${foreignKey.name}" of ${target.name}.`);
}

/**
 * Changes the links of a relation in the open transaction.
 *
 *     await changeLinks(tx, tagsOfPost, { action: 'add', links: [{ key: 3, join: null }] }); // [1, 2, 3]
 *
 * @returns the keys that the relation references afterwards.
 * @throws ApiError `REFERENCE_MISSING` for targets that the caller may not get; and as the writes of the links.
 */
export async function changeLinks(
  tx: TransactionContext,
  related: RecordRelation,
  change: LinkChange,
): Promise<unknown[]> {
  const { relation } = related;
  const { action, links } = change;
  if (!relation.many && action !== 'remove' && links.length > 1)
    throw new ApiError('BODY_INVALID', `"${related.field.name}" can only refer to one record.`);
  if (related.field.serverManaged)
    throw new ApiError('SYSTEM_PROTECTED', `"${related.field.name}" is managed by the server and cannot be changed.`);
  await requireLinkTargets(tx, related, change);
  if (relation.kind === 'belongsTo') await linkBelongsTo(tx, related, change);
  else if (relation.through) await linkManyToMany(tx, related, change);
  else await linkHasMany(tx, related, change);
  return readLinkedKeys(tx, related);
}

/** The keys of the records that the relation references and the caller may see, in the default order of the target. */
export async function readLinkedKeys(
  context: RecordContext,
  { source, field, target, key }: RecordRelation,
): Promise<unknown[]> {
  const { name } = target.primaryKey;
  const listRequest = normaliseRequest('list', { fields: [name], count: 'none', pageSize: 1000 }, false);
  const within = { collection: source.name, relation: field.name, key: key };
  const shape = `${listRequest.shape} ${source.name}.${field.name}`;
  const keys: unknown[] = [];
  let after: string | null = null;
  do {
    const request = { ...listRequest, within, after, shape: `${shape} ${after !== null}` };
    const page = await listRecords(withListGrant(context, target), target, request);
    for (const record of JSON.parse(page.data) as Record<string, unknown>[]) keys.push(record[name]);
    after = page.meta.nextCursor;
  } while (after !== null);
  return keys;
}

/** A to-one relation only needs a get grant, so that is used if the caller may not list the target. */
function withListGrant(context: RecordContext, target: Collection): RecordContext {
  if (context.findGrant(target.name, 'list')) return context;
  return withGrants(context, { resource: target.name, action: 'list', grant: context.findGrant(target.name, 'get') });
}

/** Records to link must exist and be visible to the caller. Both failures have the same error. */
async function requireLinkTargets(
  tx: TransactionContext,
  { target }: RecordRelation,
  { action, links }: LinkChange,
): Promise<void> {
  if (links.length === 0) return;
  const grant = requireGrant(tx, target, 'get');
  const found = await readFieldValues(
    tx,
    { collection: target, name: target.primaryKey.name, grant },
    links.map((link) => link.key),
  );
  if (found.length < links.length && action !== 'remove')
    throw new ApiError('REFERENCE_MISSING', `Some of the given records of ${target.name} do not exist.`);
}

/** belongsTo: the record itself has the foreign key. */
async function linkBelongsTo(
  tx: TransactionContext,
  related: RecordRelation,
  { action, links }: LinkChange,
): Promise<void> {
  const { source, relation, key } = related;
  const [current] = await readLinkedKeys(tx, related);
  const named = links.map((link) => link.key);
  let wanted: unknown;
  if (action === 'remove') wanted = links.length === 0 || named.includes(current) ? null : current;
  else if (action === 'toggle') wanted = named[0] === current ? null : named[0];
  else wanted = named[0] ?? (action === 'set' ? null : current);
  const unchanged = (wanted ?? null) === (current ?? null);
  // If the link exists already, nothing is written, but the caller still needs the grant for the write.
  if (unchanged) await readSourceValue(tx, related, requireWritableRelation(tx, related));
  else
    await updateByRules(tx, source, key, {
      [relation.sourceField]: await readReferencedValue(tx, related, wanted ?? null),
    });
}

/** The value by which a belongsTo references a record of its target; null for none. */
async function readReferencedValue(
  tx: TransactionContext,
  { target, relation, field }: RecordRelation,
  key: unknown,
): Promise<unknown> {
  if (key === null) return null;
  const grant = requireGrant(tx, target, 'get');
  const [found] = await readFieldValues(tx, { collection: target, name: relation.targetField, grant }, [key]);
  return requireLinkable(found?.value, field);
}

/** hasMany and hasOne: the targets have the foreign key. */
async function linkHasMany(tx: TransactionContext, related: RecordRelation, change: LinkChange): Promise<void> {
  const { relation, target } = related;
  const value = await readSourceValue(tx, related, requireGrant(tx, related.source, 'get'));
  requireGrant(tx, target, 'update');
  const { removed, added } = diffLinks(await readLinkedKeys(tx, related), change, relation.many);
  // The rules of system collections check one record at a time.
  const batches = (keys: readonly unknown[]): readonly unknown[] =>
    target.system || keys.length === 0 ? keys : [keys];
  for (const keys of batches(removed)) await updateByRules(tx, target, keys, { [relation.targetField]: null });
  for (const keys of batches(added.map((link) => link.key)))
    await updateByRules(tx, target, keys, { [relation.targetField]: requireLinkable(value, related.field) });
}

/** Updates records under the caller's grants and the rules of their collection. */
async function updateByRules(
  tx: TransactionContext,
  collection: Collection,
  keys: unknown,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  await updateRecords(tx, collection, requestByKeys('update', keys), { body: values, rules: getRules(collection) });
}

/** belongsToMany: the join has a record for each link. */
async function linkManyToMany(tx: TransactionContext, related: RecordRelation, change: LinkChange): Promise<void> {
  const { relation, target } = related;
  const through = relation.through!;
  const join = tx.registry.get(through.collection);
  refuseJoinKeys(change.links, join, through);
  const value = await readSourceValue(tx, related, requireWritableRelation(tx, related));
  const { removed, added, existing } = diffLinks(await readLinkedKeys(tx, related), change, true);
  if (join.system) return linkSystemJoin(tx, related, removed, added);
  const joinContext = withGrants(tx, { resource: join.name, grant: joinGrant });
  const all = [...removed, ...[...added, ...existing].map((link) => link.key)];
  if (all.length === 0) return;
  const grant = requireGrant(tx, target, 'get');
  const found = await readFieldValues(tx, { collection: target, name: relation.targetField, grant }, all);
  const valueByKey = new Map(found.map((each) => [String(each.key), each.value]));
  const pair = (key: unknown): Record<string, unknown> => ({
    [through.sourceField]: value,
    [through.targetField]: valueByKey.get(String(key)),
  });
  if (removed.length > 0) {
    const filter = { ...pair(null), [through.targetField]: { $in: removed.map((key) => valueByKey.get(String(key))) } };
    await destroyRecords(joinContext, join, normaliseRequest('destroy', { filter }, false), { rules: null });
  }
  if (added.length > 0) {
    for (const end of [value, ...added.map((link) => valueByKey.get(String(link.key)))])
      requireLinkable(end, related.field);
    const bodies = added.map((link) => ({ ...link.join, ...pair(link.key) }));
    await createRecords(joinContext, join, normaliseRequest('create', {}, false), { body: bodies, rules: null });
  }
  for (const link of existing)
    if (link.join && Object.keys(link.join).length > 0)
      await updateRecords(joinContext, join, normaliseRequest('update', { filter: pair(link.key) }, false), {
        body: link.join,
        rules: null,
      });
}

/** Refuses the two foreign keys of a join as values: the path and the target already say which records are linked. */
function refuseJoinKeys(links: readonly Link[], join: Collection, { sourceField, targetField }: JoinFields): void {
  for (const name of links.flatMap((link) => Object.keys(link.join ?? {}))) {
    const relation = join.byName.get(name)?.relation;
    const column = relation?.kind === 'belongsTo' ? relation.sourceField : name;
    if (column === sourceField || column === targetField)
      throw new ApiError(
        'BODY_INVALID',
        `"${name}" is one of the two keys of the link, which the request already contains; leave it out.`,
      );
  }
}

/** Links of a system join, such as roles of users, are set under the rules of the source, as in an update of the record. */
async function linkSystemJoin(
  tx: TransactionContext,
  { source, field, key }: RecordRelation,
  removed: readonly unknown[],
  added: readonly Link[],
): Promise<void> {
  if (removed.length + added.length === 0) return;
  const currentKeys = (await getRules(source)?.readLinks?.(tx.tx, key, tx)) ?? [];
  const nextKeys = [...currentKeys.filter((each) => !removed.includes(each)), ...added.map((link) => link.key)];
  await updateByRules(tx, source, key, { [field.name]: nextKeys });
}

/** The update grant of the record whose relation it is. @throws ApiError 403 if it does not allow the relation. */
function requireWritableRelation(context: RecordContext, { source, field }: RecordRelation): Grant {
  const grant = requireGrant(context, source, 'update');
  if (!grant.may(field))
    throw new ApiError('FIELD_DENIED', `The role may not write "${field.name}" of ${source.name}.`);
  return grant;
}

interface LinkDifference {
  readonly removed: readonly unknown[];
  readonly added: readonly Link[];
  /** Named links that already exist. */
  readonly existing: readonly Link[];
}

function diffLinks(current: readonly unknown[], { action, links }: LinkChange, isMany: boolean): LinkDifference {
  const linked = new Set(current.map(String));
  const named = new Set(links.map((link) => String(link.key)));
  const added = action === 'remove' ? [] : links.filter((link) => !linked.has(String(link.key)));
  const existing = action === 'set' || action === 'add' ? links.filter((link) => linked.has(String(link.key))) : [];
  const replaces = action === 'set' || (!isMany && added.length > 0);
  const isRemoved = (key: unknown): boolean =>
    replaces ? !named.has(String(key)) : action !== 'add' && named.has(String(key));
  const isClearing = action === 'remove' && links.length === 0 && !isMany;
  return { removed: isClearing ? current : current.filter(isRemoved), added, existing };
}
