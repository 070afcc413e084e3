import { auditCollection } from '../journal/audit-collection.ts';
import { grantsOfAction, type ReadAction } from '../protocol/actions.ts';
import { denied } from '../query/read-access.ts';
import { missing, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { idOf } from './auth-actions.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';
import { runRead, runRecordAction } from './record-actions.ts';
import { readRecordRequest } from './request-reader.ts';

/** `audit:`, which nobody writes, and what the journal knows of keys. */
export const auditActions: Readonly<Record<string, SystemAction>> = {
  'audit:list': { reads: true, run: reading('list') },
  'audit:get': { reads: true, run: reading('get') },
  'audit:query': { reads: true, run: reading('query') },
  'audit:verify': { reads: true, run: verify },
  'apiKeys:stats': { reads: true, run: stats },
};

/** With the parameters, limits and refusals of every other list. */
function reading(action: ReadAction): SystemAction['run'] {
  return async (call): Promise<Answer> => {
    const { application, caller, requestId, zone } = call;
    for (const needed of grantsOfAction(action)) requireAudit(call, needed);
    const context = await application.auditContext(caller, requestId, zone);
    const { database, registry } = context;
    const contextNow = async (): Promise<RecordContext> => ({ ...(await call.contextNow()), database, registry });
    return runRead(action, { ...call, contextNow }, context, auditCollection);
  };
}

async function verify(call: Call): Promise<Answer> {
  requireAudit(call, 'list');
  knownParameters(call, [], false);
  return { data: JSON.stringify(await call.application.journal.verify()) };
}

function requireAudit({ application, caller, requestId }: Call, action: string): void {
  if (!application.recordContext(caller, requestId).grantOf('audit', action)) throw denied('audit', action);
}

/** Of a key that the caller's list shows. */
async function stats(call: Call): Promise<Answer> {
  const { application, caller, requestId } = call;
  const context = application.recordContext(caller, requestId);
  const keys = context.registry.get('apiKeys');
  const grant = requireGrant(context, keys, 'list');
  const { filterByTk } = knownParameters(call, ['filterByTk'], false);
  const id = idOf(filterByTk);
  const route = { resource: 'apiKeys', action: 'list', tk: String(id), of: null };
  const request = readRecordRequest(route, 'count=none&fields=id', undefined, false);
  const seen = await runRecordAction({ ...call, route, request: () => request });
  if (!('data' in seen) || seen.data === '[]') throw missing(keys, grant);
  const use = await application.journal.useOf(id);
  const data = {
    id,
    requests: use?.requests ?? 0,
    failedAttempts: use?.failed ?? 0,
    firstUsedAt: use?.firstAt ?? null,
    lastUsedAt: use?.lastAt ?? null,
    endpoints: use?.endpoints ?? [],
  };
  return { data: JSON.stringify(data) };
}
