/**
 * The actions of mail that are not generated: which operation each one runs, and the conversion between requests and
 * operations.
 */
import type { actionOperations } from '../mail/actions/action-operations.ts';
import type { MailData, MailRequest } from '../mail/actions/mail-request.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { findStoredResult } from './idempotency.ts';
import { parseIfMatch } from './if-match.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import { performInTransaction } from './perform-write.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';

type MailAction = keyof typeof actionOperations;
/**
 * A `read` changes nothing. A `write` stores its reply in its transaction, so it is not repeated for the same Idempotency-Key. An
 * `upload` is a write in transactions of its own.
 */
type ActionKind = 'read' | 'write' | 'upload';

const actionKinds: Readonly<Record<MailAction, ActionKind>> = {
  'emails:get': 'read',
  'emails:raw': 'read',
  'emails:image': 'read',
  'emails:unsubscribe': 'upload',
  'emails:export': 'read',
  'conversations:get': 'read',
  'attachments:get': 'read',
  'emails:saveDraft': 'write',
  'emails:attach': 'upload',
  'emails:send': 'write',
  'emails:reply': 'write',
  'emails:replyAll': 'write',
  'emails:forward': 'write',
  'emails:cancelSend': 'write',
  'emails:retrySend': 'write',
  'emails:import': 'upload',
  'accounts:members': 'read',
  'accounts:rethread': 'upload',
  'accounts:discover': 'upload',
  'accounts:test': 'upload',
  'accounts:authorize': 'upload',
  'accounts:finishAuthorization': 'upload',
  'accounts:sync': 'upload',
  'accounts:waiting': 'read',
  'accounts:verifyAlias': 'upload',
  'accounts:confirmAlias': 'upload',
  'mailRules:try': 'read',
  'mailRules:apply': 'write',
  'mailCampaigns:preview': 'read',
  'mailCampaigns:test': 'write',
  'mailCampaigns:start': 'write',
  'mailCampaigns:schedule': 'write',
  'mailCampaigns:pause': 'write',
  'mailCampaigns:resume': 'write',
  'mailCampaigns:cancel': 'write',
  'mailTemplates:fill': 'read',
  'contacts:merge': 'write',
  'mailPushSubscriptions:key': 'read',
  'mailPushSubscriptions:subscribe': 'write',
  'mailPushSubscriptions:unsubscribe': 'write',
  'emails:move': 'write',
  'emails:destroy': 'write',
  'emails:batchUpdate': 'write',
};

export const mailActions: Readonly<Record<string, SystemAction>> = {
  ...Object.fromEntries(
    Object.entries(actionKinds).map(([name, kind]) => [name, createAction(name as MailAction, kind)]),
  ),
  'emails:storeExport': { reads: false, run: storeEmailExport },
};

function createAction(name: MailAction, kind: ActionKind): SystemAction {
  const run = (request: RequestContext): Promise<ActionResult> => runOperation(name, request);
  return kind === 'write' ? { reads: false, run, storesReply: true } : { reads: kind === 'read', run };
}

async function runOperation(name: MailAction, request: RequestContext): Promise<ActionResult> {
  const { actionOperations } = await import('../mail/actions/action-operations.ts');
  const result = await actionOperations[name](toMailRequest(request));
  if (!('file' in result)) return result;
  const lease = request.retain();
  return { ...result, done: () => lease.release() };
}

/** `emails:storeExport`: the export of `emails:export` as a file of the caller. */
async function storeEmailExport(request: RequestContext): Promise<ActionResult> {
  const { storeExportFile } = await import('./store-export.ts');
  return storeExportFile(request, getRecordContext(request), async () => {
    const result = await runOperation('emails:export', request);
    if ('stream' in result) return result;
    throw new Error('an export of e-mails has no stream');
  });
}

function toMailRequest(request: RequestContext): MailRequest {
  const { route, parameters, method } = request;
  const context = getRecordContext(request);
  return {
    name: `${route.resource}:${route.action}`,
    isPlain: route.plain === true,
    context,
    contextNow: request.contextNow,
    mail: request.application.mail,
    body: request.body,
    upload: request.upload,
    parameters,
    knownParameters: (names, allowsDryRun) => readKnownParameters(request, names, allowsDryRun),
    recordRequest: (given) => (given ? normaliseRequest('get', given, method !== 'POST') : request.recordRequest()),
    ifMatch: () => parseIfMatch(request.ifMatch),
    write: async (options, work) => {
      const dryRun = isDryRun({ dryRun: parameters()['dryRun'] });
      return requireData(await performInTransaction(request, context, { ...options, dryRun }, work));
    },
    findStoredResult: async () => {
      const stored = await findStoredResult(request);
      return stored && requireData(stored);
    },
  };
}

function requireData(result: ActionResult): MailData {
  if ('data' in result) return result;
  throw new Error('an operation of mail that writes gave no data');
}
