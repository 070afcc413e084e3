import { bind, type Row } from '../../database/database.ts';
import { getCachedPlan, toPlanContext } from '../record-context.ts';
import { planUpdate } from './write-plan.ts';
import {
  buildWriteEnvironment,
  buildWriteEvent,
  checkReach,
  explainNoMatch,
  finishWrite,
  guardRules,
  type IfMatch,
  requiredCounters,
  sortByKeyOrder,
  type WriteOperation,
  writeInTransaction,
} from './write-steps.ts';

/**
 * Destroys records on which more hangs than one transaction is to take along: they are marked by what their rules say, and are
 * out of sight from then on. Who made the rules sees to the rest.
 */
export function deferDeleteAll(operation: WriteOperation, key: unknown, match: IfMatch): Promise<Row[]> {
  const { context, collection, request, grant, rules } = operation;
  const counters = requiredCounters(match);
  const record = rules!.deferredDelete!;
  const plan = getCachedPlan(context, grant, `${collection.name}:put away ${request.shape} ${counters !== null}`, () =>
    planUpdate(request, collection, grant, Object.keys(record), counters !== null, toPlanContext(context)),
  );
  const environment = buildWriteEnvironment(operation, {
    key,
    record,
    counters: counters ?? [],
    event: buildWriteEvent(operation, []),
  });
  const isSingle = key !== undefined && !Array.isArray(key);
  return writeInTransaction(
    operation,
    async (transaction) => {
      transaction.touch(collection.table);
      const afterWrite = await guardRules(operation, transaction, 'destroy', environment, null);
      if (!isSingle) await checkReach(operation, transaction, environment);
      const written = await transaction.run(bind(context.database.dialect, plan.statement, environment));
      await explainNoMatch(operation, transaction, environment, written.length, counters);
      const rows = sortByKeyOrder(written, environment);
      await finishWrite(operation, transaction, 'destroyed', rows, []);
      await afterWrite?.();
      return rows;
    },
    !isSingle,
  );
}
