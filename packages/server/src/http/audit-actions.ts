import { auditCollection } from '../journal/audit-collection.ts';
import { listRequiredGrants, type ReadAction } from '../protocol/actions.ts';
import { permissionDenied } from '../query/read-access.ts';
import { recordNotFound } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { readKnownParameters } from './known-parameters.ts';
import { readNamedRecord } from './named-record.ts';
import { runRead, runRecordAction } from './record-actions.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { readRecordRequest } from './request-reader.ts';

/** The read-only `audit` actions, and the usage of API keys. */
export const auditActions: Readonly<Record<string, SystemAction>> = {
  'audit:list': { reads: true, run: createAuditRead('list') },
  'audit:get': { reads: true, run: createAuditRead('get') },
  'audit:query': { reads: true, run: createAuditRead('query') },
  'audit:verify': { reads: true, run: verifyJournal },
  'apiKeys:stats': { reads: true, run: readKeyStats },
};

/** A read of the journal with the same parameters, limits and errors as reads of records. */
function createAuditRead(action: ReadAction): SystemAction['run'] {
  return async (request): Promise<ActionResult> => {
    const { application, caller, requestId, zone } = request;
    for (const needed of listRequiredGrants(action)) requireAudit(request, needed);
    const context = await application.auditContext(caller, requestId, zone);
    const { database, registry } = context;
    const contextNow = async (): Promise<RecordContext> => ({ ...(await request.contextNow()), database, registry });
    return runRead(action, { ...request, contextNow }, context, auditCollection);
  };
}

async function verifyJournal(request: RequestContext): Promise<ActionResult> {
  requireAudit(request, 'list');
  readKnownParameters(request, [], false);
  return { data: JSON.stringify(await request.application.journal.verify()) };
}

function requireAudit({ application, caller, requestId }: RequestContext, action: string): void {
  if (!application.recordContext(caller, requestId).findGrant('audit', action)) throw permissionDenied('audit', action);
}

/** The usage of a key that is visible to the caller. */
async function readKeyStats(request: RequestContext): Promise<ActionResult> {
  const { collection, grant, id } = readNamedRecord(request, 'apiKeys', 'list');
  const route = { resource: 'apiKeys', action: 'list', key: String(id), of: null };
  const recordRequest = readRecordRequest(route, 'count=none&fields=id', undefined, false);
  const visibleKey = await runRecordAction({ ...request, route, recordRequest: () => recordRequest });
  if (!('data' in visibleKey) || visibleKey.data === '[]') throw recordNotFound(collection, grant);
  const use = await request.application.journal.readUsage(id);
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
