/**
 * What goes along when records are destroyed for good: children by `cascade` fall with them, children by `setNull` lose
 * their link. The engine's foreign keys would do it without a word. Here it is noted before, level by level and with one
 * statement for each foreign key, so that every record is asked about, told of and kept in history like any other change.
 */
import { isoTime } from '../base/clock.ts';
import { bind, type Row, type Transaction } from '../database/database.ts';
import type { BindEnvironment } from '../database/sql.ts';
import type { HookedAction } from '../extensions/extension.ts';
import { actorOf } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { Grant } from '../query/grant.ts';
import { isMailResource } from '../schema/mail-collections.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { type States, statesAt, writeHistory } from './history.ts';
import { planContext, type RecordContext, stampOf } from './record-context.ts';
import { checkChange } from './record-input.ts';
import { mayKnow, namesOf, type Parents, type Reference, referencesTo } from './references.ts';
import { planLoosen, planNamed } from './trash-plan.ts';
import { planKeys } from './write-plan.ts';
import { type Target, transact } from './write-steps.ts';

/** The server's own logs: nothing that happens to them is told anywhere. */
const logs = new Set(['webhookDeliveries', 'applicationErrors']);

/** What a foreign key does to its children is no matter of grants. */
const anyField: Grant = { identity: 'along', rows: null, may: () => true };

/** Children that change alike: they fall, or lose the links of the same foreign keys. */
interface Part {
  readonly child: Collection;
  /** The foreign keys that lose their link; none: the children fall. */
  readonly fields: readonly Field[];
  readonly keys: readonly unknown[];
  /** Those outside the trash, which are told of. */
  readonly told: readonly unknown[];
  readonly before: States | null;
}

/** A child that was found, and what becomes of it. */
interface Found {
  readonly child: Collection;
  readonly key: unknown;
  readonly live: boolean;
  readonly fields: Set<Field>;
}

/** More goes along than the event loop is to be held for: the destroy begins again beside it. */
class ManyAlong extends Error {}

/**
 * Runs a destroy that may have many dependants: on the event loop where they are few, else beside it.
 *
 * @param heavy the destroy itself may reach many records.
 * @param work is told how many dependants it may have; it throws {@link ManyAlong} past fewer than the most.
 */
export async function transactBounded(
  target: Target,
  heavy: boolean,
  work: (transaction: Transaction, most: number) => Promise<Row[]>,
): Promise<Row[]> {
  const atMost =
    (most: number) =>
    (transaction: Transaction): Promise<Row[]> =>
      work(transaction, most);
  if (heavy || target.context.inside) return transact(target, atMost(limits.recordsAlong), heavy);
  try {
    return await transact(target, atMost(limits.recordsAlongAtOnce));
  } catch (error) {
    if (error instanceof ManyAlong) return transact(target, atMost(limits.recordsAlong), true);
    throw error;
  }
}

/** @throws ManyAlong, or ApiError 400 where not even the most would do. */
export function requireFew(context: RecordContext, count: number, most: number, reference: Reference): void {
  if (count > most) throw most < limits.recordsAlong ? new ManyAlong() : tooMany(context, reference);
}

/** Whether destroying records of a collection may do something to others that is to be told of. */
export function hasDependants(collection: Collection, registry: Registry): boolean {
  return referencesTo(collection, registry).some(isTold);
}

/** Who made a record is forgotten along with the user, which changes nothing that the record says. */
function isTold({ child, field }: Reference): boolean {
  return field.references!.onDelete !== 'restrict' && !field.kept && !child.internal && !logs.has(child.name);
}

/**
 * Notes what goes along with the records that a destroy is about to reach, and takes the links of those that stay.
 *
 * @param most past so many records it is not done: {@link limits.recordsAlong}, or fewer.
 * @returns what tells of it, once the records are destroyed.
 * @throws ApiError 400 past {@link limits.recordsAlong} records; what extensions refuse.
 * @throws ManyAlong past fewer.
 */
export async function takeDependants(
  target: Target,
  transaction: Transaction,
  environment: BindEnvironment,
  most: number,
): Promise<() => Promise<void>> {
  const { context, collection, request, grant } = target;
  if (!hasDependants(collection, context.registry)) return async () => {};
  const plan = planKeys(request, collection, grant, planContext(context));
  const rows = await transaction.run(bind(context.database.dialect, plan, environment));
  const keys = rows.map((row) => row[0]);
  const found = await childrenOf(context, transaction, { collection, keys }, most);
  const parts: Part[] = [];
  for (const group of found) parts.push(await prepared(context, transaction, group));
  return async () => {
    for (const part of parts) await tell(context, transaction, part);
  };
}

/**
 * Records outside the trash that would be destroyed along with these, each once.
 *
 * @throws ApiError 400 past {@link limits.recordsAlong} dependants.
 */
export async function liveDependants(
  context: RecordContext,
  transaction: Transaction,
  parents: Parents,
): Promise<{ readonly collection: string; readonly key: unknown }[]> {
  if (!hasDependants(parents.collection, context.registry)) return [];
  const found = await childrenOf(context, transaction, parents, limits.recordsAlong);
  return found
    .flat()
    .filter(({ live, fields }) => live && fields.size === 0)
    .map(({ child, key }) => ({ collection: child.name, key }));
}

/** All that hangs on these records, each child once. */
async function childrenOf(
  context: RecordContext,
  transaction: Transaction,
  first: Parents,
  most: number,
): Promise<Found[][]> {
  const falling = new Map([[first.collection.name, new Map(first.keys.map((key) => [String(key), key]))]]);
  const found = new Map<string, Found>();
  const waiting: Parents[] = [first];
  for (let parents = waiting.shift(); parents; parents = waiting.shift()) {
    for (const reference of referencesTo(parents.collection, context.registry).filter(isTold)) {
      const { child, field } = reference;
      const rows = await named(context, transaction, parents, reference, most - found.size);
      requireFew(context, found.size + rows.length, most, reference);
      const fallen = falling.get(child.name) ?? new Map<string, unknown>();
      const news: unknown[] = [];
      for (const [key, live] of rows) {
        const name = `${child.name} ${key}`;
        const falls = field.references!.onDelete === 'cascade';
        if (fallen.has(String(key))) continue;
        const present = found.get(name);
        if (!falls && present) present.fields.add(field);
        else found.set(name, { child, key, live: Boolean(live), fields: new Set(falls ? [] : [field]) });
        if (!falls) continue;
        fallen.set(String(key), key);
        news.push(key);
      }
      falling.set(child.name, fallen);
      if (news.length > 0) waiting.push({ collection: child, keys: news });
    }
  }
  return alike([...found.values()]);
}

async function named(
  context: RecordContext,
  transaction: Transaction,
  parents: Parents,
  { child, field }: Reference,
  most: number,
): Promise<readonly (readonly unknown[])[]> {
  const values = await namesOf(context, transaction, parents, field);
  if (values.length === 0) return [];
  return transaction.run(planNamed(child, field, values, most + 1, context.database.dialect));
}

function tooMany(context: RecordContext, reference: Reference): ApiError {
  const { child, field } = reference;
  const cure = mayKnow(context, reference)
    ? `first destroy records of ${child.name}, or change their "${field.name}"`
    : 'first have the records destroyed that depend on it';
  return new ApiError('LIMIT_EXCEEDED', `More than ${limits.recordsAlong} records would go along; ${cure}.`);
}

/** In the order in which they were found. */
function alike(found: readonly Found[]): Found[][] {
  const groups = Map.groupBy(found, ({ child, fields }) => `${child.name} ${[...fields].map(({ id }) => id).sort()}`);
  return [...groups.values()];
}

async function prepared(context: RecordContext, transaction: Transaction, group: readonly Found[]): Promise<Part> {
  const { child, fields } = group[0]!;
  const keys = group.map(({ key }) => key);
  const told = group.filter(({ live }) => live || fields.size === 0).map(({ key }) => key);
  const values = Object.fromEntries([...fields].map(({ name }) => [name, null]));
  await askAbout(context, child, fields.size === 0 ? 'destroy' : 'update', keys, values);
  const before = child.options.logging ? await statesAt(context, child, transaction, keys) : null;
  if (fields.size > 0) {
    const change = checkChange(values, child, anyField, stampOf(context));
    await transaction.run(planLoosen(child, keys, change.values, context.database.dialect));
  }
  return { child, fields: [...fields], keys, told, before };
}

/** Extensions may refuse what goes along with another record; other values than these it cannot get. */
export async function askAbout(
  { hooks, caller, requestId }: RecordContext,
  { name, system }: Collection,
  action: HookedAction,
  keys: readonly unknown[],
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (!hooks?.asks(name, system)) return;
  for (const key of keys) await hooks.before({ collection: name, action, key, values, caller, requestId }, system);
}

async function tell(context: RecordContext, transaction: Transaction, part: Part): Promise<void> {
  const { child, fields, keys, told, before } = part;
  const verb = fields.length === 0 ? 'destroyed' : 'updated';
  const event = {
    name: `${child.name}.${verb}`,
    resource: child.name,
    tks: told.map(String),
    actor: actorOf(context.caller),
    requestId: context.requestId,
    changed: fields.map(({ name }) => name),
    by: child.system && !isMailResource(child.name) ? context.caller : null,
  };
  await context.changes.append(transaction, event, isoTime(context.clock.now()));
  await writeHistory({ context, collection: child }, transaction, verb, keys, before);
}
