import { bind, type Row } from '../database/database.ts';
import { keptPlan, planContext } from './record-context.ts';
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
  type Match,
  type Target,
  transact,
} from './write-steps.ts';

/**
 * Destroys records on which more hangs than one transaction is to take along: they are marked by what their rules say, and are
 * out of sight from then on. Who made the rules sees to the rest.
 */
export function putAwayAll(target: Target, key: unknown, match: Match): Promise<Row[]> {
  const { context, collection, request, grant, rules } = target;
  const counters = countersIn(match);
  const record = rules!.putAway!;
  const plan = keptPlan(context, grant, `${collection.name}:put away ${request.shape} ${counters !== null}`, () =>
    planUpdate(request, collection, grant, Object.keys(record), counters !== null, planContext(context)),
  );
  const environment = environmentOf(target, { key, record, counters: counters ?? [], event: eventOf(target, []) });
  const single = key !== undefined && !Array.isArray(key);
  return transact(
    target,
    async (transaction) => {
      transaction.touch(collection.table);
      const afterwards = await guardRules(target, transaction, 'destroy', environment, null);
      if (!single) await checkReach(target, transaction, environment);
      const written = await transaction.run(bind(context.database.dialect, plan.statement, environment));
      await explainNothing(target, transaction, environment, written.length, counters);
      const rows = inOrder(written, environment);
      await finish(target, transaction, 'destroyed', rows, []);
      await afterwards?.();
      return rows;
    },
    !single,
  );
}
