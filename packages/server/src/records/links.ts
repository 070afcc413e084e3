/**
 * The links of a relation: which records it names, and their change. Whoever changes links needs the grants of what is
 * written: of the record with the foreign key, or for a join of the record whose relation it is.
 */
import { userRolesOf } from '../database/identity-store.ts';
import { membersOf } from '../database/mail/account-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { normaliseRequest, requestByKeys } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { misfit } from '../schema/field-type.ts';
import { type Collection, fieldOf, type JoinFields } from '../schema/registry.ts';
import { listRecords, requireGrant } from './read-records.ts';
import type { RecordContext } from './record-context.ts';
import { linkable, type Related, sourceValue, valuesOf } from './related-parent.ts';
import { rulesOf } from './system/rules-of.ts';
import { withGrants } from './with-grants.ts';
import { createRecords, destroyRecords, updateRecords } from './write-records.ts';

export type LinkAction = 'set' | 'add' | 'remove' | 'toggle';

/** A record to be linked, and the values of its join beside the two keys. */
export interface Link {
  readonly key: unknown;
  readonly join: Readonly<Record<string, unknown>> | null;
}

/** What stands in joins belongs to the record whose relation they are: its update grant decides, no grant on the join. */
const joinGrant: Grant = { identity: 'links', rows: null, may: (field) => !field.hidden };

/**
 * Reads the targets of a link action: keys, objects that hold the key, `[key, {join values}]`.
 *
 * @throws ApiError 400 naming what is no key of the target.
 */
export function linksOf(input: unknown, { target, relation }: Related): Link[] {
  const list = input === null || input === undefined ? [] : Array.isArray(input) ? input : [input];
  if (list.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `One action links at most ${limits.bulkRecords} records.`);
  const links = list.map((each: unknown) => {
    const [named, join] = Array.isArray(each) ? [each[0], each[1]] : [each, null];
    if (Array.isArray(each) && (each.length !== 2 || relation.through === null || !isObject(join)))
      throw new ApiError('BODY_INVALID', 'A pair is [key, {values of the join}], in many-to-many relations alone.');
    return { key: linkKey(named, target), join: join as Link['join'] };
  });
  return [...new Map(links.map((link) => [String(link.key), link])).values()];
}

function linkKey(named: unknown, target: Collection): unknown {
  const { name, type } = target.primaryKey;
  const members = isObject(named) ? Object.keys(named) : null;
  const plain = members === null ? named : members.length === 1 ? (named as Record<string, unknown>)[name] : undefined;
  const key =
    plain === undefined || plain === null || isObject(plain) || Array.isArray(plain)
      ? misfit
      : type.readOperand(plain, true);
  if (key === misfit)
    throw new ApiError('BODY_INVALID', `Name records of ${target.name} by their key, or by {"${name}": …}.`);
  return key;
}

/**
 * The grants of a link action, asked for before anything is known of the records that it names: the relation of the record
 * writable, or for hasMany and hasOne the foreign key of the target.
 *
 * @throws ApiError 403.
 */
export function requireLinkRights(context: RecordContext, related: Related): void {
  const { relation, source, target } = related;
  if (relation.kind === 'belongsTo' || relation.through) {
    writableRelation(context, related);
    return;
  }
  requireGrant(context, source, 'get');
  const foreignKey = fieldOf(target, relation.targetField);
  if (!requireGrant(context, target, 'update').may(foreignKey))
    throw new ApiError('FIELD_DENIED', `The role may not write "${foreignKey.name}" of ${target.name}.`);
}

/** Changes links in the transaction under way; returns the keys that the relation names afterwards. */
export async function changeLinks(
  inside: RecordContext,
  related: Related,
  action: LinkAction,
  links: readonly Link[],
): Promise<unknown[]> {
  const { relation } = related;
  if (!relation.many && action !== 'remove' && links.length > 1)
    throw new ApiError('BODY_INVALID', `"${related.field.name}" names one record.`);
  if (related.field.kept)
    throw new ApiError('SYSTEM_PROTECTED', `"${related.field.name}" is kept by the server and cannot be changed.`);
  await requireTargets(inside, related, links, action);
  if (relation.kind === 'belongsTo') await linkOwn(inside, related, action, links);
  else if (relation.through) await linkJoin(inside, related, action, links);
  else await linkForeign(inside, related, action, links);
  return linkedKeys(inside, related);
}

/** Keys of the records that the relation names and the caller may see, in their order. */
export async function linkedKeys(context: RecordContext, { source, field, target, key }: Related): Promise<unknown[]> {
  const { name } = target.primaryKey;
  const asked = normaliseRequest('list', { fields: [name], count: 'none', pageSize: 1000 }, false);
  const within = { collection: source.name, relation: field.name, tk: key };
  const shape = `${asked.shape} ${source.name}.${field.name}`;
  const keys: unknown[] = [];
  let after: string | null = null;
  do {
    const request = { ...asked, within, after, shape: `${shape} ${after !== null}` };
    // A to-one relation is followed with get alone.
    const page = await listRecords(related(context, target), target, request);
    for (const record of JSON.parse(page.data) as Record<string, unknown>[]) keys.push(record[name]);
    after = page.meta.nextCursor;
  } while (after !== null);
  return keys;
}

/** To-one relations are followed under get, where a list would not be granted. */
function related(context: RecordContext, target: Collection): RecordContext {
  if (context.grantOf(target.name, 'list')) return context;
  return withGrants(context, { resource: target.name, action: 'list', grant: context.grantOf(target.name, 'get') });
}

/** What is linked must be there and in sight; the two failures answer alike. */
async function requireTargets(
  inside: RecordContext,
  { target }: Related,
  links: readonly Link[],
  action: LinkAction,
): Promise<void> {
  if (links.length === 0) return;
  const grant = requireGrant(inside, target, 'get');
  const found = await valuesOf(
    inside,
    target,
    links.map((link) => link.key),
    target.primaryKey.name,
    grant,
  );
  if (found.length < links.length && action !== 'remove')
    throw new ApiError('REFERENCE_MISSING', `Not every record of ${target.name} that is named exists.`);
}

/** belongsTo: the foreign key is the record's own. */
async function linkOwn(
  inside: RecordContext,
  related: Related,
  action: LinkAction,
  links: readonly Link[],
): Promise<void> {
  const { source, relation, key } = related;
  const [current] = await linkedKeys(inside, related);
  const named = links.map((link) => link.key);
  let wanted: unknown;
  if (action === 'remove') wanted = links.length === 0 || named.includes(current) ? null : current;
  else if (action === 'toggle') wanted = named[0] === current ? null : named[0];
  else wanted = named[0] ?? (action === 'set' ? null : current);
  const unchanged = (wanted ?? null) === (current ?? null);
  // A link that is there already changes nothing; that the record may be written is asked all the same.
  if (unchanged) await sourceValue(inside, related, writableRelation(inside, related));
  else await write(inside, source, key, { [relation.sourceField]: await nameOf(inside, related, wanted ?? null) });
}

/** The value by which a belongsTo names a record of its target; null for none. */
async function nameOf(inside: RecordContext, { target, relation, field }: Related, key: unknown): Promise<unknown> {
  if (key === null) return null;
  const [found] = await valuesOf(inside, target, [key], relation.targetField, requireGrant(inside, target, 'get'));
  return linkable(found?.value, field);
}

/** hasMany and hasOne: the foreign key is the targets'. */
async function linkForeign(
  inside: RecordContext,
  related: Related,
  action: LinkAction,
  links: readonly Link[],
): Promise<void> {
  const { relation, target } = related;
  const value = await sourceValue(inside, related, requireGrant(inside, related.source, 'get'));
  requireGrant(inside, target, 'update');
  const { gone, come } = difference(await linkedKeys(inside, related), links, action, relation.many);
  // System collections are written one by one: their rules look at each.
  const batches = (keys: readonly unknown[]): readonly unknown[] =>
    target.system || keys.length === 0 ? keys : [keys];
  for (const keys of batches(gone)) await write(inside, target, keys, { [relation.targetField]: null });
  for (const keys of batches(come.map((link) => link.key)))
    await write(inside, target, keys, { [relation.targetField]: linkable(value, related.field) });
}

/** Writes records under the grants and rules that any update of them has. */
async function write(
  inside: RecordContext,
  collection: Collection,
  keys: unknown,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  await updateRecords(inside, collection, requestByKeys('update', keys), values, null, rulesOf(collection));
}

/** belongsToMany: a record of the join for each link. */
async function linkJoin(
  inside: RecordContext,
  related: Related,
  action: LinkAction,
  links: readonly Link[],
): Promise<void> {
  const { relation, target } = related;
  const through = relation.through!;
  const join = inside.registry.get(through.collection);
  refuseEnds(links, join, through);
  const value = await sourceValue(inside, related, writableRelation(inside, related));
  const { gone, come, kept } = difference(await linkedKeys(inside, related), links, action, true);
  if (join.system) return linkByRules(inside, related, gone, come);
  const free = withGrants(inside, { resource: join.name, grant: joinGrant });
  const all = [...gone, ...[...come, ...kept].map((link) => link.key)];
  if (all.length === 0) return;
  const found = await valuesOf(inside, target, all, relation.targetField, requireGrant(inside, target, 'get'));
  const valueAt = new Map(found.map((each) => [String(each.key), each.value]));
  const pair = (key: unknown): Record<string, unknown> => ({
    [through.sourceField]: value,
    [through.targetField]: valueAt.get(String(key)),
  });
  if (gone.length > 0) {
    const filter = { ...pair(null), [through.targetField]: { $in: gone.map((key) => valueAt.get(String(key))) } };
    await destroyRecords(free, join, normaliseRequest('destroy', { filter }, false), null, null);
  }
  if (come.length > 0) {
    for (const end of [value, ...come.map((link) => valueAt.get(String(link.key)))]) linkable(end, related.field);
    const bodies = come.map((link) => ({ ...link.join, ...pair(link.key) }));
    await createRecords(free, join, normaliseRequest('create', {}, false), bodies, null);
  }
  for (const link of kept)
    if (link.join && Object.keys(link.join).length > 0)
      await updateRecords(
        free,
        join,
        normaliseRequest('update', { filter: pair(link.key) }, false),
        link.join,
        null,
        null,
      );
}

/** Which two records a link joins is said by the path and the target alone: as values they would lead it elsewhere. */
function refuseEnds(links: readonly Link[], join: Collection, { sourceField, targetField }: JoinFields): void {
  for (const name of links.flatMap((link) => Object.keys(link.join ?? {}))) {
    const relation = join.byName.get(name)?.relation;
    const column = relation?.kind === 'belongsTo' ? relation.sourceField : name;
    if (column === sourceField || column === targetField)
      throw new ApiError(
        'BODY_INVALID',
        `"${name}" is an end of the link, which the request names already; leave it out.`,
      );
  }
}

/** Roles of users and members of accounts are set under the rules of those, as in an update of the record. */
async function linkByRules(
  inside: RecordContext,
  { source, field, key }: Related,
  gone: readonly unknown[],
  come: readonly Link[],
): Promise<void> {
  if (gone.length + come.length === 0) return;
  const { database, inside: transaction } = inside;
  const held: readonly unknown[] =
    source.name === 'accounts'
      ? await membersOf(database, transaction!, key as number)
      : await userRolesOf(database, transaction!, [key]);
  const left = [...held.filter((each) => !gone.includes(each)), ...come.map((link) => link.key)];
  await write(inside, source, key, { [field.name]: left });
}

/** The grant to change a relation that lies with the record itself. */
function writableRelation(inside: RecordContext, { source, field }: Related): Grant {
  const grant = requireGrant(inside, source, 'update');
  if (!grant.may(field))
    throw new ApiError('FIELD_DENIED', `The role may not write "${field.name}" of ${source.name}.`);
  return grant;
}

interface Difference {
  readonly gone: readonly unknown[];
  readonly come: readonly Link[];
  /** Links that are there already and are named. */
  readonly kept: readonly Link[];
}

function difference(
  current: readonly unknown[],
  links: readonly Link[],
  action: LinkAction,
  many: boolean,
): Difference {
  const linked = new Set(current.map(String));
  const named = new Set(links.map((link) => String(link.key)));
  const come = action === 'remove' ? [] : links.filter((link) => !linked.has(String(link.key)));
  const kept = action === 'set' || action === 'add' ? links.filter((link) => linked.has(String(link.key))) : [];
  const replaces = action === 'set' || (!many && come.length > 0);
  const leaves = (key: unknown): boolean =>
    replaces ? !named.has(String(key)) : action !== 'add' && named.has(String(key));
  const everything = action === 'remove' && links.length === 0 && !many;
  return { gone: everything ? current : current.filter(leaves), come, kept };
}
