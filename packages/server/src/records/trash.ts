/**
 * The trash of paranoid collections: destroyed records stay, marked, and can be taken out again with what went along with
 * them. To everybody who does not ask for the trash they are not there.
 */
import { isoTime } from '../base/clock.ts';
import { bind, type Row, type Transaction } from '../database/database.ts';
import { actorOf } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type Collection, columnsOf, type Field, type Registry } from '../schema/registry.ts';
import { keysOf, writeHistory } from './history.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';
import { compareKeys } from './record-key.ts';
import { planChildren, planMark, planReferenced } from './trash-plan.ts';
import { planUpdate } from './write-plan.ts';
import type { Match } from './write-records.ts';
import {
  checkReach,
  environmentOf,
  eventOf,
  explainNothing,
  finish,
  guardRules,
  inOrder,
  lookedAt,
  type Target,
  transact,
} from './write-steps.ts';

/** A foreign key that names records of a collection. */
interface Reference {
  readonly child: Collection;
  readonly field: Field;
}

/** Records whose children follow them. */
interface Parents {
  readonly collection: Collection;
  readonly keys: readonly unknown[];
}

/** @throws ApiError 404 for collections that are not paranoid. */
export function requireTrash(collection: Collection): void {
  if (collection.trash === null)
    throw new ApiError('ROUTE_UNKNOWN', `${collection.name} keeps no destroyed records: it is not paranoid.`);
}

/** Marks records as destroyed, and what a cascade takes along. */
export function trashAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  const deletedAt = isoTime(target.context.clock.now());
  return mark(target, key, match, deletedAt, async (transaction, rows) => {
    await finish(target, transaction, 'destroyed', rows, []);
    await writeHistory(target, transaction, 'destroyed', keysOf(rows), null);
    await takeAlong(target.context, transaction, { collection: target.collection, keys: keysOf(rows) }, deletedAt);
    return [...rows];
  });
}

/** Takes records out of the trash, and what went there along with them. */
export function restoreAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  return mark(target, key, match, null, async (transaction, written, look) => {
    const rows = await look(written);
    await finish(target, transaction, 'restored', rows, []);
    await writeHistory(target, transaction, 'restored', keysOf(rows), null);
    await takeAlong(target.context, transaction, { collection: target.collection, keys: keysOf(rows) }, null);
    return rows;
  });
}

function mark(
  target: Target,
  key: unknown,
  match: Match,
  deletedAt: string | null,
  then: (
    transaction: Transaction,
    rows: readonly Row[],
    look: (rows: readonly Row[]) => Promise<Row[]>,
  ) => Promise<Row[]>,
): Promise<Row[]> {
  const { context, collection, request, grant } = target;
  const counter = typeof match === 'number' ? match : null;
  const verb = deletedAt === null ? 'restore' : 'trash';
  const plan = keptPlan(context, `${collection.name}:${verb} ${request.shape} ${counter !== null}`, () =>
    planUpdate(request, collection, grant, ['deletedAt', 'deletedWith'], counter !== null, planContext(context)),
  );
  const record = { deletedAt, deletedWith: null };
  const environment = environmentOf(target, { key, record, counter: counter ?? 0, event: eventOf(target, []) });
  const single = key !== undefined && !Array.isArray(key);
  const work = async (transaction: Transaction): Promise<Row[]> => {
    transaction.touch('*'); // records of other tables may go along
    if (deletedAt !== null) await guardRules(target, transaction, 'destroy', environment, null);
    if (!single) await checkReach(target, transaction, environment);
    const written = inOrder(
      await transaction.run(bind(context.database.dialect, plan.statement, environment)),
      environment,
    );
    await explainNothing(target, transaction, environment, written.length, counter);
    return then(transaction, written, (rows) => lookedAt(target, plan, rows, transaction));
  };
  return transact(target, work, !single);
}

/**
 * Children by cascade follow their parents into the trash and out of it; what a foreign key restricts stays in the way.
 * Links of many-to-many relations stay as they are: nobody sees them while one end is in the trash.
 *
 * @param deletedAt null: out of the trash.
 */
async function takeAlong(
  context: RecordContext,
  transaction: Transaction,
  first: Parents,
  deletedAt: string | null,
): Promise<void> {
  const waiting = [first];
  for (let parents = waiting.shift(); parents; parents = waiting.shift()) {
    if (parents.keys.length === 0) continue;
    for (const { child, field } of referencesTo(parents.collection, context.registry)) {
      const { onDelete } = field.references!;
      if (onDelete === 'setNull') continue;
      const values = await referenced(context, transaction, parents, field);
      if (onDelete === 'cascade' && child.trash) {
        waiting.push(await follow(context, transaction, child, field, values, deletedAt));
      } else if (deletedAt !== null) await refuseChildren(context, transaction, child, field, values);
    }
  }
}

async function follow(
  context: RecordContext,
  transaction: Transaction,
  child: Collection,
  field: Field,
  values: readonly unknown[],
  deletedAt: string | null,
): Promise<Parents> {
  const { database, changes, caller, requestId, clock } = context;
  const rows = await transaction.run(planMark(child, field, values, deletedAt, database.dialect));
  const keys = rows.map((row) => row[0]).sort(compareKeys);
  const verb = deletedAt === null ? 'restored' : 'destroyed';
  const event = {
    name: `${child.name}.${verb}`,
    resource: child.name,
    tks: keys.map(String),
    actor: actorOf(caller),
    requestId,
    changed: [],
    by: null,
  };
  await changes.append(transaction, event, isoTime(clock.now()));
  await writeHistory({ context, collection: child }, transaction, verb, keys, null);
  return { collection: child, keys };
}

async function refuseChildren(
  { database }: RecordContext,
  transaction: Transaction,
  child: Collection,
  field: Field,
  values: readonly unknown[],
): Promise<void> {
  const rows = await transaction.run(planChildren(child, field, values, database.dialect));
  if (rows.length > 0)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `Records of ${child.name} depend on it by "${field.name}"; remove or change them first.`,
    );
}

/** The values by which children name these parents. */
async function referenced(
  { database }: RecordContext,
  transaction: Transaction,
  { collection, keys }: Parents,
  { references }: Field,
): Promise<readonly unknown[]> {
  if (references!.field === collection.primaryKey.name) return keys;
  const rows = await transaction.run(planReferenced(collection, references!.field, keys, database.dialect));
  return rows.map((row) => row[0]).filter((value) => value !== null);
}

const references = new WeakMap<Registry, ReadonlyMap<string, readonly Reference[]>>();

/** Foreign keys that name records of a collection, without those of joins. */
function referencesTo({ name }: Collection, registry: Registry): readonly Reference[] {
  let kept = references.get(registry);
  if (!kept) {
    kept = allReferences(registry);
    references.set(registry, kept);
  }
  return kept.get(name) ?? [];
}

function allReferences(registry: Registry): Map<string, Reference[]> {
  const links = new Set<string>();
  for (const { fields } of registry.all())
    for (const { relation } of fields) {
      const through = relation?.through;
      if (through)
        for (const name of [through.sourceField, through.targetField]) links.add(`${through.collection}.${name}`);
    }
  const all = registry
    .all()
    .flatMap((child) => columnsOf(child).map((field) => ({ child, field })))
    .filter(({ child, field }) => field.references && !links.has(`${child.name}.${field.name}`));
  return Map.groupBy(all, ({ field }) => field.references!.collection);
}
