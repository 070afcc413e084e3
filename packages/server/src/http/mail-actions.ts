/** The actions of mail that are not generated: which operation each one runs, and the way between a request and an operation. */
import { runBatchUpdate, runDestroy, runMove } from '../mail/actions/change-emails.ts';
import { runExport } from '../mail/actions/export-mail.ts';
import { runGetImage } from '../mail/actions/get-image.ts';
import { runImport } from '../mail/actions/import-mail.ts';
import type { MailData, MailRequest, MailResult } from '../mail/actions/mail-request.ts';
import { runGetAttachment, runGetConversation, runGetEmail, runGetRaw } from '../mail/actions/read-mail.ts';
import { runRethread } from '../mail/actions/rebuild-conversations.ts';
import { runAttach, runSaveDraft } from '../mail/actions/save-draft.ts';
import { runCancelSend, runReply, runSend } from '../mail/actions/send-mail.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { findStoredResult } from './idempotency.ts';
import { parseIfMatch } from './if-match.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import { performInTransaction } from './perform-write.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';

type Operation = (request: MailRequest) => Promise<MailResult>;

const read = (run: Operation): SystemAction => ({ reads: true, run: (request) => runOperation(run, request) });
/** A write that is not repeated for the same Idempotency-Key, because its reply is stored in its transaction. */
const write = (run: Operation): SystemAction => ({ ...upload(run), storesReply: true });
/** A write in transactions of its own. */
const upload = (run: Operation): SystemAction => ({ reads: false, run: (request) => runOperation(run, request) });

export const mailActions: Readonly<Record<string, SystemAction>> = {
  'emails:get': read(runGetEmail),
  'emails:raw': read(runGetRaw),
  'emails:image': read(runGetImage),
  'emails:export': read(runExport),
  'conversations:get': read(runGetConversation),
  'attachments:get': read(runGetAttachment),
  'emails:saveDraft': write(runSaveDraft),
  'emails:attach': upload(runAttach),
  'emails:send': write(runSend),
  'emails:reply': write((request) => runReply(request, 'reply')),
  'emails:replyAll': write((request) => runReply(request, 'replyAll')),
  'emails:forward': write((request) => runReply(request, 'forward')),
  'emails:cancelSend': write(runCancelSend),
  'emails:import': upload(runImport),
  'accounts:rethread': upload(runRethread),
  'emails:move': write(runMove),
  'emails:destroy': write(runDestroy),
  'emails:batchUpdate': write(runBatchUpdate),
};

async function runOperation(run: Operation, request: RequestContext): Promise<ActionResult> {
  const result = await run(toMailRequest(request));
  if (!('file' in result)) return result;
  const lease = request.retain();
  return { ...result, done: () => lease.release() };
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
