/** Writing mail: drafts, sending, answering, passing on, calling back. What is sent waits in the outbox. */
import { isoTime } from '../base/clock.ts';
import { readDraft, readFiles, type StoredDraft } from '../database/mail/draft-rows.ts';
import { type AnswerKind, answerTo } from '../mail/compose/answer-draft.ts';
import type { Draft } from '../mail/compose/draft.ts';
import {
  callBack,
  draftInReach,
  newDraft,
  type ReadyMail,
  readyMail,
  storeDraft,
  storeQueued,
  turnOf,
} from '../mail/compose/write-mail.ts';
import { newFile, readWritten, type WrittenMail, writtenNames } from '../mail/compose/written-mail.ts';
import { ApiError, invalidValues } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { type AccountInSight, accountInSight } from '../records/mail-account.ts';
import { getRecord, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { canonicalDatetime } from '../schema/types/datetime.ts';
import { type Answer, type Call, contextOf, type SystemAction } from './call.ts';
import { mediaTypeUnsupported } from './error-reply.ts';
import { matchOf } from './if-match.ts';
import { isTrial, knownParameters } from './known-parameters.ts';
import { runGetEmail } from './mail-reads.ts';
import { bodyOf, refuseFiltered } from './mail-request.ts';
import { keptAnswer } from './once.ts';
import { performWrite } from './perform-write.ts';

export const composeActions: Readonly<Record<string, SystemAction>> = {
  'emails:saveDraft': { reads: false, keepsReply: true, run: runSaveDraft },
  'emails:attach': { reads: false, run: runAttach },
  'emails:send': { reads: false, keepsReply: true, run: runSend },
  'emails:reply': { reads: false, keepsReply: true, run: (call) => runAnswer(call, 'reply') },
  'emails:replyAll': { reads: false, keepsReply: true, run: (call) => runAnswer(call, 'replyAll') },
  'emails:forward': { reads: false, keepsReply: true, run: (call) => runAnswer(call, 'forward') },
  'emails:cancelSend': { reads: false, keepsReply: true, run: runCancelSend },
};

/** What a message begins with. */
interface Beginning {
  readonly account: AccountInSight;
  readonly before: StoredDraft | null;
  readonly draft: Draft;
}

async function runSaveDraft(call: Call): Promise<Answer> {
  const context = contextOf(call);
  // Whoever may do neither is told so before anything that was sent is looked at.
  if (!context.grantOf('emails', 'update')) requireWriter(context, 'create');
  requireWriter(context, namesDraft(call) ? 'update' : 'create');
  const { dryRun, filterByTk } = knownParameters(call, ['filterByTk']);
  const { account, id, ...rest } = bodyOf(call, ['account', 'id', ...writtenNames]);
  const key = draftKey(filterByTk, id);
  const written = readWritten(rest);
  requireWritable(context, key === null ? 'create' : 'update', rest);
  const known = await keptAnswer(call);
  if (known) return known;
  const begun = await beginning(call, context, key, account);
  const ready = await readyOf(call, context, begun, written, true);
  return stored(call, context, ready, { dryRun }, async (inside) => {
    const draft = await storeDraft(inside, call.application.mail, ready);
    return shownEmail(call, inside, draft);
  });
}

/** One more file of a draft, its bytes as they are. */
async function runAttach(call: Call): Promise<Answer> {
  const context = contextOf(call);
  requireWriter(context, 'update');
  requireWritable(context, 'update', { attachments: [] });
  const {
    filterByTk,
    filename = null,
    contentType,
  } = knownParameters(call, ['filterByTk', 'filename', 'contentType'], false);
  if (!call.upload) throw mediaTypeUnsupported('Upload the bytes of the file as application/octet-stream.');
  const key = draftKey(filterByTk, undefined);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the draft by filterByTk.');
  const begun = await beginning(call, context, key, undefined);
  const file = newFile(filename, contentType ?? 'application/octet-stream', null, await bytesOf(call.upload.bytes));
  if (typeof file === 'string') throw new ApiError('PARAMETER_INVALID', file);
  const mine = await readFiles(context.database, { email: key });
  const files = [...mine.map(({ id }) => ({ id })), file];
  if (files.length > mailLimits.files)
    throw invalidValues({ attachments: `A message has at most ${mailLimits.files} files.` });
  const ready = await readyOf(call, context, begun, { files }, true);
  return stored(call, context, ready, {}, async (inside) => {
    await storeDraft(inside, call.application.mail, ready);
    return shownEmail(call, inside, key);
  });
}

async function bytesOf(upload: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of upload) {
    // What is too long is read to its end, so that the refusal arrives, and not kept.
    if (size <= mailLimits.fileBytes) pieces.push(piece);
    size += piece.length;
  }
  if (size > mailLimits.fileBytes)
    throw invalidValues({ attachments: `The files of a message have at most ${mailLimits.fileBytes} bytes together.` });
  return Buffer.concat(pieces);
}

async function runSend(call: Call): Promise<Answer> {
  const context = contextOf(call);
  requireWriter(context, 'create');
  if (namesDraft(call)) requireWriter(context, 'update');
  const { dryRun, filterByTk } = knownParameters(call, ['filterByTk']);
  const { account, id, sendAt, ...rest } = bodyOf(call, ['account', 'id', 'sendAt', ...writtenNames]);
  const key = draftKey(filterByTk, id);
  const at = sendTime(sendAt, context.clock.now());
  const written = readWritten(rest);
  requireWritable(context, 'create', rest);
  const known = await keptAnswer(call);
  if (known) return known;
  const begun = await beginning(call, context, key, account);
  const ready = await readyOf(call, context, begun, written, false);
  return stored(call, context, ready, { dryRun }, (inside) => queued(call, inside, ready, at));
}

async function runAnswer(call: Call, kind: AnswerKind): Promise<Answer> {
  const context = contextOf(call);
  requireWriter(context, 'create');
  requireGrant(context, context.registry.get('emails'), 'get');
  const { dryRun, filterByTk } = knownParameters(call, ['filterByTk']);
  const {
    id,
    sendAt,
    draft = false,
    quote = true,
    ...rest
  } = bodyOf(call, ['id', 'sendAt', 'draft', 'quote', ...writtenNames]);
  for (const [name, value] of Object.entries({ draft, quote }))
    if (typeof value !== 'boolean') throw invalidValues({ [name]: 'Give true or false.' });
  const key = draftKey(filterByTk, id);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the e-mail by filterByTk, or by "id" in the body.');
  const at = sendTime(sendAt, context.clock.now());
  const { text = null, html = null, ...written } = readWritten(rest);
  requireWritable(context, 'create', rest);
  const original = await originalOf(context, key);
  const account = await accountInSight(context, String(original.accountId));
  const said = { text, html, quotes: quote === true };
  const answer = answerTo(original, kind, said, account.address);
  const passedOn = kind === 'forward' ? await readFiles(context.database, { email: key }) : [];
  const files = [...passedOn.map((each) => ({ id: each.id })), ...(written.files ?? [])];
  const begun = { account, before: null, draft: { ...newDraft(account), ...answer } };
  const ready = await readyOf(call, context, begun, { ...written, files }, draft === true);
  return stored(call, context, ready, { dryRun }, async (inside) => {
    if (draft !== true) return queued(call, inside, ready, at);
    return shownEmail(call, inside, await storeDraft(inside, call.application.mail, ready));
  });
}

async function runCancelSend(call: Call): Promise<Answer> {
  const context = contextOf(call);
  requireWriter(context, 'update');
  const { dryRun, filterByTk } = knownParameters(call, ['filterByTk']);
  const key = draftKey(filterByTk, bodyOf(call, ['id'])['id']);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the e-mail by filterByTk, or by "id" in the body.');
  return performWrite(call, context, { dryRun: isTrial({ dryRun }), joined: true }, async (inside) => {
    await callBack(inside, key);
    return shownEmail(call, inside, key);
  });
}

function readyOf(
  call: Call,
  context: RecordContext,
  { account, before, draft }: Beginning,
  written: WrittenMail,
  isDraft: boolean,
): Promise<ReadyMail> {
  return readyMail(context, call.application.mail, account, before, draft, written, isDraft);
}

function stored(
  call: Call,
  context: RecordContext,
  { account }: ReadyMail,
  { dryRun }: { readonly dryRun?: unknown },
  work: (inside: RecordContext) => Promise<Answer>,
): Promise<Answer> {
  return performWrite(call, context, { dryRun: isTrial({ dryRun }), joined: true, turn: turnOf(account) }, work);
}

async function queued(call: Call, inside: RecordContext, ready: ReadyMail, sendAt: string): Promise<Answer> {
  const id = await storeQueued(inside, call.application.mail, ready, sendAt);
  return { data: JSON.stringify({ id, accountId: ready.account.id, status: 'queued', sendAt }) };
}

/** As a get shows it; whoever has no such grant is shown the key alone. */
async function shownEmail(call: Call, inside: RecordContext, id: number): Promise<Answer> {
  if (!inside.grantOf('emails', 'get')) return { data: JSON.stringify({ id }) };
  const route = { resource: 'emails', action: 'get', tk: null, of: null };
  const read = { ...call, inside, route, method: 'POST', body: undefined, parameters: () => ({ filterByTk: id }) };
  return runGetEmail(read).catch((error: unknown) => {
    if (error instanceof ApiError && error.label === 'No permissions') return { data: JSON.stringify({ id }) };
    throw error;
  });
}

/** Whether a request goes on from a draft: what it needs differs. */
function namesDraft({ parameters, body }: Call): boolean {
  return parameters()['filterByTk'] !== undefined || (isObject(body) && body['id'] !== undefined);
}

/** Null where none is named. */
function draftKey(filterByTk: unknown, id: unknown): number | null {
  if (filterByTk !== undefined && id !== undefined)
    throw new ApiError('PARAMETER_INVALID', 'Name the e-mail by filterByTk or by "id" in the body, not by both.');
  const asked = filterByTk ?? id;
  if (asked === undefined) return null;
  const { filterByTk: key } = requestByKeys('get', asked);
  const number = typeof key === 'string' && /^\d{1,16}$/.test(key) ? Number(key) : key;
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    throw new ApiError('PARAMETER_INVALID', 'An e-mail is named by its id, a whole number.');
  return number;
}

async function beginning(call: Call, context: RecordContext, key: number | null, named: unknown): Promise<Beginning> {
  if (key !== null) {
    if (named !== undefined) throw new ApiError('BODY_INVALID', 'account: a draft stays in its account.');
    const { before, draft } = await draftInReach(context, key, matchOf(call.ifMatch));
    return { account: await accountInSight(context, String(before.accountId)), before, draft };
  }
  if (typeof named !== 'string' && typeof named !== 'number')
    throw invalidValues({ account: 'Name the account that you write from, by its id or its address.' });
  const account = await accountInSight(context, String(named));
  return { account, before: null, draft: newDraft(account) };
}

/** A role that may write e-mails as they are held against no filter: messages that are composed already are not. */
function requireWriter(context: RecordContext, action: 'create' | 'update'): void {
  requireGrant(context, context.registry.get('emails'), action);
  if (action === 'create') refuseFiltered(context);
}

/** The fields in which the members of a message are kept. */
const keptIn: Readonly<Record<string, string>> = {
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
    if (!grant.may(emails.byName.get(keptIn[name]!)!))
      throw new ApiError('FIELD_DENIED', `The role may not write "${name}" of emails.`);
}

/** @returns ISO 8601: not before the time in which it can be called back is over. */
function sendTime(input: unknown, now: number): string {
  const first = now + mailLimits.undoMilliseconds;
  if (input === undefined || input === null) return isoTime(first);
  const asked = canonicalDatetime(input);
  if (asked === null) throw invalidValues({ sendAt: 'Give a moment in ISO 8601, such as 2026-11-20T09:30:00Z.' });
  const at = Date.parse(asked);
  if (at > now + mailLimits.sendAheadMilliseconds) throw invalidValues({ sendAt: 'Give a moment within a year.' });
  return isoTime(Math.max(at, first));
}

/** What is answered, if the role may read all of it: whoever may not read something does not quote it either. */
async function originalOf(context: RecordContext, key: number): Promise<StoredDraft> {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, 'get');
  for (const name of ['subject', 'from', 'to', 'cc', 'content', 'messageId', 'sentAt'])
    if (!grant.may(emails.byName.get(name)!))
      throw new ApiError('FIELD_DENIED', `The role may not read "${name}" of emails, and so not answer them.`);
  await getRecord(context, emails, requestByKeys('get', key));
  return (await readDraft(context.database, key))!;
}
