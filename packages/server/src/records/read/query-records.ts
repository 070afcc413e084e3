import { bind, createBindEnvironment } from '../../database/database.ts';
import type { ParsedQuery } from '../../protocol/query-request.ts';
import { planQuery } from '../../query/aggregate-plan.ts';
import type { Collection } from '../../schema/registry.ts';
import { getRecordedPlan, type RecordContext, toPlanContext } from '../record-context.ts';
import { requireGrant } from './read-records.ts';
import { runReads } from './read-statements.ts';
import { recordRead } from './record-run.ts';

/** Groups and measures the records that a list would show; returns their JSON text, brackets included. */
export async function queryRecords(
  context: RecordContext,
  collection: Collection,
  query: ParsedQuery,
): Promise<string> {
  const grant = requireGrant(context, collection, 'list');
  const plan = getRecordedPlan(context, grant, `${collection.name}:query ${query.shape}`, () =>
    planQuery(query, collection, grant, toPlanContext(context)),
  );
  const environment = createBindEnvironment({
    values: query.values,
    variables: context.variables,
    now: context.clock.now(),
    zone: context.zone,
    offset: query.offset,
    version: context.snapshotVersion.version,
  });
  const statement = bind(context.database.dialect, plan.statement, environment);
  const started = plan.shape ? plan.shape.begin() : -1;
  const [rows] = await runReads(context, [statement]);
  const [row] = plan.read(rows!).rows;
  if (started >= 0)
    recordRead(plan.shape, { statement, started, rows: rows!, returned: Number(row?.[1] ?? 0), hasMore: false });
  return `[${(row?.[0] as string | null) ?? ''}]`;
}
