/**
 * The trash of paranoid collections: destroyed records stay, marked, and can be taken out again with what went along with
 * them. To everybody who does not ask for the trash they are not there.
 */
import { isoTime } from '../base/clock.ts';
import { bind, type Row, type Transaction } from '../database/database.ts';
import { actorOf } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { askAbout, requireFew, transactBounded } from './dependants.ts';
import { keysOf, writeHistory } from './history.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';
import { compareKeys } from './record-key.ts';
import { dependantsExist, namesOf, type Parents, type Reference, referencesTo } from './references.ts';
import { planChildren, planMark } from './trash-plan.ts';
import { planUpdate } from './write-plan.ts';
import {
  checkReach,
  countersIn,
  environmentOf,
  eventOf,
  explainNothing,
  finish,
  guardRules,
  inOrder,
  lookedAt,
  type Match,
  type Target,
} from './write-steps.ts';

/** @throws ApiError 404 for collections that are not paranoid. */
export function requireTrash(collection: Collection): void {
  if (collection.trash === null)
    throw new ApiError('ROUTE_UNKNOWN', `${collection.name} keeps no destroyed records: it is not paranoid.`);
}

/** Marks records as destroyed, and what a cascade takes along. */
export function trashAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  const deletedAt = isoTime(target.context.clock.now());
  return mark(target, key, match, deletedAt, async (transaction, most, rows) => {
    await finish(target, transaction, 'destroyed', rows, []);
    await writeHistory(target, transaction, 'destroyed', keysOf(rows), null);
    await takeAlong(
      target.context,
      transaction,
      { collection: target.collection, keys: keysOf(rows) },
      deletedAt,
      most,
    );
    return [...rows];
  });
}

/** Takes records out of the trash, and what went there along with them. */
export function restoreAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  return mark(target, key, match, null, async (transaction, most, written, look) => {
    const rows = await look(written);
    await finish(target, transaction, 'restored', rows, []);
    await writeHistory(target, transaction, 'restored', keysOf(rows), null);
    await takeAlong(target.context, transaction, { collection: target.collection, keys: keysOf(rows) }, null, most);
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
    most: number,
    rows: readonly Row[],
    look: (rows: readonly Row[]) => Promise<Row[]>,
  ) => Promise<Row[]>,
): Promise<Row[]> {
  const { context, collection, request, grant } = target;
  const counters = countersIn(match);
  const verb = deletedAt === null ? 'restore' : 'trash';
  const plan = keptPlan(context, grant, `${collection.name}:${verb} ${request.shape} ${counters !== null}`, () =>
    planUpdate(request, collection, grant, ['deletedAt', 'deletedWith'], counters !== null, planContext(context)),
  );
  const record = { deletedAt, deletedWith: null };
  const environment = environmentOf(target, { key, record, counters: counters ?? [], event: eventOf(target, []) });
  const single = key !== undefined && !Array.isArray(key);
  return transactBounded(target, !single, async (transaction, most) => {
    transaction.touch('*'); // records of other tables may go along
    if (deletedAt !== null) await guardRules(target, transaction, 'destroy', environment, null);
    if (!single) await checkReach(target, transaction, environment);
    const written = inOrder(
      await transaction.run(bind(context.database.dialect, plan.statement, environment)),
      environment,
    );
    await explainNothing(target, transaction, environment, written.length, counters);
    return then(transaction, most, written, (rows) => lookedAt(target, plan, rows, transaction));
  });
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
  most: number,
): Promise<void> {
  let along = 0;
  const waiting = [first];
  for (let parents = waiting.shift(); parents; parents = waiting.shift()) {
    if (parents.keys.length === 0) continue;
    for (const reference of referencesTo(parents.collection, context.registry)) {
      const { child, field, link } = reference;
      const { onDelete } = field.references!;
      if (link || onDelete === 'setNull') continue;
      const values = await namesOf(context, transaction, parents, field);
      if (onDelete === 'cascade' && child.trash) {
        const children = await follow(context, transaction, child, field, values, deletedAt);
        along += children.keys.length;
        requireFew(context, along, most, reference);
        waiting.push(children);
      } else if (deletedAt !== null) await refuseChildren(context, transaction, reference, values);
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
  await askAbout(context, child, deletedAt === null ? 'restore' : 'destroy', keys, {});
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
  context: RecordContext,
  transaction: Transaction,
  reference: Reference,
  values: readonly unknown[],
): Promise<void> {
  const { child, field } = reference;
  const rows = await transaction.run(planChildren(child, field, values, context.database.dialect));
  if (rows.length > 0) throw dependantsExist(context, reference);
}
