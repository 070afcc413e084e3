import { bind, environmentOf, StaleVersion } from '../database/database.ts';
import type { AskedQuery } from '../protocol/query-request.ts';
import { planQuery } from '../query/aggregate-plan.ts';
import type { Collection } from '../schema/registry.ts';
import { requireGrant } from './read-records.ts';
import { run } from './read-statements.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';

/** Groups and measures the records that a list would show; returns their JSON text, brackets included. */
export async function queryRecords(context: RecordContext, collection: Collection, query: AskedQuery): Promise<string> {
  const grant = requireGrant(context, collection, 'list');
  const plan = keptPlan(context, grant, `${collection.name}:query ${query.shape}`, () =>
    planQuery(query, collection, grant, planContext(context)),
  );
  const environment = environmentOf({
    values: query.values,
    variables: context.variables,
    now: context.clock.now(),
    zone: context.zone,
    offset: query.offset,
    version: context.at.version,
  });
  const [rows] = await run(context, [bind(context.database.dialect, plan.statement, environment)]);
  const [row] = rows!;
  if (!row) throw new StaleVersion();
  return `[${(row[plan.lead] as string | null) ?? ''}]`;
}
