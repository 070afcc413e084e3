/** Writing mail: drafts, sending, answering, passing on, calling back. What is sent waits in the outbox. */
import { isoTime } from '../base/clock.ts';
import { readDraft, readFiles, type StoredDraft } from '../database/mail/draft-rows.ts';
import type { Draft } from '../mail/compose/draft.ts';
import { type MailInput, mailInputNames, parseMailInput, parseNewFile } from '../mail/compose/mail-input.ts';
import { buildReply, type ReplyKind } from '../mail/compose/reply-draft.ts';
import {
  createDraft,
  mailLockKey,
  type PreparedMail,
  prepareMail,
  requireEditableDraft,
  storeDraft,
  storeQueued,
  unqueueMessage,
} from '../mail/compose/write-mail.ts';
import { ApiError, invalidValues } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { getRecord, requireGrant } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { findVisibleAccount, type VisibleAccount } from '../records/visible-account.ts';
import { canonicalDatetime } from '../schema/types/datetime.ts';
import { mediaTypeUnsupported } from './error-reply.ts';
import { findStoredResult } from './idempotency.ts';
import { parseIfMatch } from './if-match.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import { runGetEmail } from './mail-reads.ts';
import { readBodyObject, refuseRowFilter } from './mail-request.ts';
import { performWrite } from './perform-write.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';

export const composeActions: Readonly<Record<string, SystemAction>> = {
  'emails:saveDraft': { reads: false, storesReply: true, run: runSaveDraft },
  'emails:attach': { reads: false, run: runAttach },
  'emails:send': { reads: false, storesReply: true, run: runSend },
  'emails:reply': { reads: false, storesReply: true, run: (request) => runReply(request, 'reply') },
  'emails:replyAll': { reads: false, storesReply: true, run: (request) => runReply(request, 'replyAll') },
  'emails:forward': { reads: false, storesReply: true, run: (request) => runReply(request, 'forward') },
  'emails:cancelSend': { reads: false, storesReply: true, run: runCancelSend },
};

/** What a message begins with. */
interface DraftBase {
  readonly account: VisibleAccount;
  readonly before: StoredDraft | null;
  readonly draft: Draft;
}

async function runSaveDraft(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  // Whoever may do neither is told so before anything that was sent is looked at.
  if (!context.findGrant('emails', 'update')) requireWriter(context, 'create');
  requireWriter(context, isDraftNamed(request) ? 'update' : 'create');
  const { dryRun, filterByTk } = readKnownParameters(request, ['filterByTk']);
  const { account, id, ...rest } = readBodyObject(request, ['account', 'id', ...mailInputNames]);
  const key = parseDraftKey(filterByTk, id);
  const written = parseMailInput(rest);
  requireWritable(context, key === null ? 'create' : 'update', rest);
  const storedResult = await findStoredResult(request);
  if (storedResult) return storedResult;
  const base = await loadDraftBase(request, context, key, account);
  const ready = await prepareOwnMail(request, context, base, written, true);
  return performDraftWrite(request, context, ready, { dryRun }, async (tx) => {
    const draft = await storeDraft(tx, request.application.mail, ready);
    return showEmail(request, tx, draft);
  });
}

/** One more file of a draft, its bytes as they are. */
async function runAttach(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireWriter(context, 'update');
  requireWritable(context, 'update', { attachments: [] });
  const {
    filterByTk,
    filename = null,
    contentType,
  } = readKnownParameters(request, ['filterByTk', 'filename', 'contentType'], false);
  if (!request.upload) throw mediaTypeUnsupported('Upload the bytes of the file as application/octet-stream.');
  const key = parseDraftKey(filterByTk, undefined);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the draft by filterByTk.');
  const base = await loadDraftBase(request, context, key, undefined);
  const file = parseNewFile(
    filename,
    contentType ?? 'application/octet-stream',
    null,
    await readUploadBytes(request.upload.bytes),
  );
  if (typeof file === 'string') throw new ApiError('PARAMETER_INVALID', file);
  const existingFiles = await readFiles(context.database, { email: key });
  const files = [...existingFiles.map(({ id }) => ({ id })), file];
  if (files.length > mailLimits.files)
    throw invalidValues({ attachments: `A message has at most ${mailLimits.files} files.` });
  const ready = await prepareOwnMail(request, context, base, { files }, true);
  return performDraftWrite(request, context, ready, {}, async (tx) => {
    await storeDraft(tx, request.application.mail, ready);
    return showEmail(request, tx, key);
  });
}

async function readUploadBytes(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    // What is too long is read to its end, so that the refusal arrives, and not kept.
    if (size <= mailLimits.fileBytes) pieces.push(piece);
    size += piece.length;
  }
  if (size > mailLimits.fileBytes)
    throw invalidValues({ attachments: `The files of a message have at most ${mailLimits.fileBytes} bytes together.` });
  return Buffer.concat(pieces);
}

async function runSend(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireWriter(context, 'create');
  if (isDraftNamed(request)) requireWriter(context, 'update');
  const { dryRun, filterByTk } = readKnownParameters(request, ['filterByTk']);
  const { account, id, sendAt, ...rest } = readBodyObject(request, ['account', 'id', 'sendAt', ...mailInputNames]);
  const key = parseDraftKey(filterByTk, id);
  const scheduledTime = parseSendTime(sendAt, context.clock.now());
  const written = parseMailInput(rest);
  requireWritable(context, 'create', rest);
  const storedResult = await findStoredResult(request);
  if (storedResult) return storedResult;
  const base = await loadDraftBase(request, context, key, account);
  const ready = await prepareOwnMail(request, context, base, written, false);
  return performDraftWrite(request, context, ready, { dryRun }, (tx) => queueMail(request, tx, ready, scheduledTime));
}

async function runReply(request: RequestContext, kind: ReplyKind): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireWriter(context, 'create');
  requireGrant(context, context.registry.get('emails'), 'get');
  const { dryRun, filterByTk } = readKnownParameters(request, ['filterByTk']);
  const {
    id,
    sendAt,
    draft = false,
    quote = true,
    ...rest
  } = readBodyObject(request, ['id', 'sendAt', 'draft', 'quote', ...mailInputNames]);
  for (const [name, value] of Object.entries({ draft, quote }))
    if (typeof value !== 'boolean') throw invalidValues({ [name]: 'Give true or false.' });
  const key = parseDraftKey(filterByTk, id);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the e-mail by filterByTk, or by "id" in the body.');
  const scheduledTime = parseSendTime(sendAt, context.clock.now());
  const { text = null, html = null, ...written } = parseMailInput(rest);
  requireWritable(context, 'create', rest);
  const original = await loadOriginal(context, key);
  const account = await findVisibleAccount(context, String(original.accountId));
  const content = { text, html, quotes: quote === true };
  const reply = buildReply(original, kind, content, account.address);
  const forwardedFiles = kind === 'forward' ? await readFiles(context.database, { email: key }) : [];
  const files = [...forwardedFiles.map((each) => ({ id: each.id })), ...(written.files ?? [])];
  const base = { account, before: null, draft: { ...createDraft(account), ...reply } };
  const ready = await prepareOwnMail(request, context, base, { ...written, files }, draft === true);
  return performDraftWrite(request, context, ready, { dryRun }, async (tx) => {
    if (draft !== true) return queueMail(request, tx, ready, scheduledTime);
    return showEmail(request, tx, await storeDraft(tx, request.application.mail, ready));
  });
}

async function runCancelSend(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireWriter(context, 'update');
  const { dryRun, filterByTk } = readKnownParameters(request, ['filterByTk']);
  const key = parseDraftKey(filterByTk, readBodyObject(request, ['id'])['id']);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the e-mail by filterByTk, or by "id" in the body.');
  return performWrite(request, context, { dryRun: isDryRun({ dryRun }), joined: true }, async (tx) => {
    await unqueueMessage(tx, key);
    return showEmail(request, tx, key);
  });
}

function prepareOwnMail(
  request: RequestContext,
  context: RecordContext,
  { account, before, draft }: DraftBase,
  written: MailInput,
  isDraft: boolean,
): Promise<PreparedMail> {
  return prepareMail(context, request.application.mail, account, before, draft, written, isDraft);
}

function performDraftWrite(
  request: RequestContext,
  context: RecordContext,
  { account }: PreparedMail,
  { dryRun }: { readonly dryRun?: unknown },
  work: (tx: RecordContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  return performWrite(
    request,
    context,
    { dryRun: isDryRun({ dryRun }), joined: true, lockKey: mailLockKey(account) },
    work,
  );
}

async function queueMail(
  request: RequestContext,
  tx: RecordContext,
  ready: PreparedMail,
  sendAt: string,
): Promise<ActionResult> {
  const id = await storeQueued(tx, request.application.mail, ready, sendAt);
  return { data: JSON.stringify({ id, accountId: ready.account.id, status: 'queued', sendAt }) };
}

/** As a get shows it; whoever has no such grant is shown the key alone. */
async function showEmail(request: RequestContext, tx: RecordContext, id: number): Promise<ActionResult> {
  if (!tx.findGrant('emails', 'get')) return { data: JSON.stringify({ id }) };
  const route = { resource: 'emails', action: 'get', key: null, of: null };
  const getRequest = { ...request, tx, route, method: 'POST', body: undefined, parameters: () => ({ filterByTk: id }) };
  return runGetEmail(getRequest).catch((error: unknown) => {
    if (error instanceof ApiError && error.label === 'No permissions') return { data: JSON.stringify({ id }) };
    throw error;
  });
}

/** Whether a request goes on from a draft: what it needs differs. */
function isDraftNamed({ parameters, body }: RequestContext): boolean {
  return parameters()['filterByTk'] !== undefined || (isObject(body) && body['id'] !== undefined);
}

/** Null where none is named. */
function parseDraftKey(filterByTk: unknown, id: unknown): number | null {
  if (filterByTk !== undefined && id !== undefined)
    throw new ApiError('PARAMETER_INVALID', 'Name the e-mail by filterByTk or by "id" in the body, not by both.');
  const requested = filterByTk ?? id;
  if (requested === undefined) return null;
  const { filterByTk: key } = requestByKeys('get', requested);
  const number = typeof key === 'string' && /^\d{1,16}$/.test(key) ? Number(key) : key;
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    throw new ApiError('PARAMETER_INVALID', 'An e-mail is named by its id, a whole number.');
  return number;
}

async function loadDraftBase(
  request: RequestContext,
  context: RecordContext,
  key: number | null,
  named: unknown,
): Promise<DraftBase> {
  if (key !== null) {
    if (named !== undefined) throw new ApiError('BODY_INVALID', 'account: a draft stays in its account.');
    const { previous, draft } = await requireEditableDraft(context, key, parseIfMatch(request.ifMatch));
    return { account: await findVisibleAccount(context, String(previous.accountId)), before: previous, draft };
  }
  if (typeof named !== 'string' && typeof named !== 'number')
    throw invalidValues({ account: 'Name the account that you write from, by its id or its address.' });
  const account = await findVisibleAccount(context, String(named));
  return { account, before: null, draft: createDraft(account) };
}

/** A role that may write e-mails as they are held against no filter: messages that are composed already are not. */
function requireWriter(context: RecordContext, action: 'create' | 'update'): void {
  requireGrant(context, context.registry.get('emails'), action);
  if (action === 'create') refuseRowFilter(context);
}

/** The fields in which the members of a message are kept. */
const memberFields: Readonly<Record<string, string>> = {
  to: 'to',
  cc: 'cc',
  subject: 'subject',
  bcc: 'content',
  text: 'content',
  html: 'content',
  attachments: 'attachments',
};

function requireWritable(
  context: RecordContext,
  action: 'create' | 'update',
  body: Readonly<Record<string, unknown>>,
): void {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, action);
  for (const name of Object.keys(body))
    if (!grant.may(emails.byName.get(memberFields[name]!)!))
      throw new ApiError('FIELD_DENIED', `The role may not write "${name}" of emails.`);
}

/** @returns ISO 8601: not before the time in which it can be called back is over. */
function parseSendTime(input: unknown, now: number): string {
  const earliest = now + mailLimits.undoMilliseconds;
  if (input === undefined || input === null) return isoTime(earliest);
  const canonical = canonicalDatetime(input);
  if (canonical === null) throw invalidValues({ sendAt: 'Give a moment in ISO 8601, such as 2026-11-20T09:30:00Z.' });
  const time = Date.parse(canonical);
  if (time > now + mailLimits.sendAheadMilliseconds) throw invalidValues({ sendAt: 'Give a moment within a year.' });
  return isoTime(Math.max(time, earliest));
}

/** What is answered, if the role may read all of it: whoever may not read something does not quote it either. */
async function loadOriginal(context: RecordContext, key: number): Promise<StoredDraft> {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, 'get');
  for (const name of ['subject', 'from', 'to', 'cc', 'content', 'messageId', 'sentAt'])
    if (!grant.may(emails.byName.get(name)!))
      throw new ApiError('FIELD_DENIED', `The role may not read "${name}" of emails, and so not answer them.`);
  await getRecord(context, emails, requestByKeys('get', key));
  return (await readDraft(context.database, key))!;
}
