/** Sending: `emails:send`, replies, forwarding, and `emails:cancelSend`. What is sent waits in the outbox. */
import { isoTime } from '../../base/clock.ts';
import { readDraft, readFiles, type StoredDraft } from '../../database/mail/draft-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { getRecord } from '../../records/read/read-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { getField } from '../../schema/registry.ts';
import { canonicalDatetime } from '../../schema/types/datetime.ts';
import { mailInputNames, parseMailInput } from '../compose/mail-input.ts';
import { buildReply, type ReplyKind } from '../compose/reply-draft.ts';
import {
  createDraft,
  type PreparedMail,
  prepareMail,
  storeDraft,
  storeQueued,
  unqueueMessage,
} from '../compose/write-mail.ts';
import type { MailStore } from '../mail-store.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { parseEmailKey, requireEmailKey } from './email-keys.ts';
import { requireEmailGrant, requireWritable, requireWriter } from './mail-access.ts';
import { type BodyValues, type MailData, type MailRequest, readBodyObject } from './mail-request.ts';
import { isDraftNamed, loadDraftBase, lockAccount, showEmail } from './own-mail.ts';

/** `emails:send`: puts a new message, or a draft, into the outbox. */
export async function runSend(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireWriter(context, 'create');
  if (isDraftNamed(request)) requireWriter(context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const { account, id, sendAt, ...rest } = readBodyObject(request, ['account', 'id', 'sendAt', ...mailInputNames]);
  const key = parseEmailKey(filterByTk, id);
  const sendTime = parseSendTime(sendAt, context.clock.now());
  const written = parseMailInput(rest);
  requireWritable(context, 'create', rest);
  const storedResult = await request.findStoredResult();
  if (storedResult) return storedResult;
  const base = await loadDraftBase(request, key, account);
  const prepared = await prepareMail(request, base, written, false);
  return request.write(lockAccount(prepared), (tx) => queueMessage(tx, mail, prepared, sendTime));
}

/** `emails:reply`, `emails:replyAll`, `emails:forward`: sends a message that refers to another one, or stores it as a draft. */
export async function runReply(request: MailRequest, kind: ReplyKind): Promise<MailData> {
  const { context, mail } = request;
  requireWriter(context, 'create');
  requireEmailGrant(context, 'get');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const names = ['id', 'sendAt', 'draft', 'quote', ...mailInputNames];
  const { id, sendAt, draft = false, quote = true, ...rest } = readBodyObject(request, names);
  requireBooleans({ draft, quote });
  const key = requireEmailKey(filterByTk, id);
  const sendTime = parseSendTime(sendAt, context.clock.now());
  const { text = null, html = null, ...written } = parseMailInput(rest);
  requireWritable(context, 'create', rest);
  const original = await loadOriginal(context, key);
  const account = await findVisibleAccount(context, String(original.accountId));
  const reply = buildReply(original, kind, { text, html, quotes: quote === true }, account.address);
  const forwardedFiles = kind === 'forward' ? await readFiles(context.database, { email: key }) : [];
  const files = [...forwardedFiles.map((each) => ({ id: each.id })), ...(written.files ?? [])];
  const base = { account, previous: null, draft: { ...createDraft(account), ...reply } };
  const prepared = await prepareMail(request, base, { ...written, files }, draft === true);
  return request.write(lockAccount(prepared), async (tx) =>
    draft === true ? showEmail(tx, await storeDraft(tx, mail, prepared)) : queueMessage(tx, mail, prepared, sendTime),
  );
}

/** `emails:cancelSend`: takes a message out of the outbox and makes it a draft again. */
export async function runCancelSend(request: MailRequest): Promise<MailData> {
  requireWriter(request.context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const key = requireEmailKey(filterByTk, readBodyObject(request, ['id'])['id']);
  return request.write({}, async (tx) => {
    await unqueueMessage(tx, key);
    return showEmail(tx, key);
  });
}

function requireBooleans(values: BodyValues): void {
  for (const [name, value] of Object.entries(values))
    if (typeof value !== 'boolean') throw invalidValues({ [name]: 'Give true or false.' });
}

async function queueMessage(
  tx: TransactionContext,
  mail: MailStore,
  prepared: PreparedMail,
  sendAt: string,
): Promise<MailData> {
  const id = await storeQueued(tx, mail, prepared, sendAt);
  return { data: JSON.stringify({ id, accountId: prepared.account.id, status: 'queued', sendAt }) };
}

/** @returns ISO 8601: at the earliest when the time in which sending can be cancelled is over. */
function parseSendTime(input: unknown, now: number): string {
  const earliest = now + mailLimits.undoMilliseconds;
  if (input === undefined || input === null) return isoTime(earliest);
  const canonical = canonicalDatetime(input);
  if (canonical === null)
    throw invalidValues({ sendAt: 'Give a date and time in ISO 8601, such as 2026-11-20T09:30:00Z.' });
  const time = Date.parse(canonical);
  if (time > now + mailLimits.sendAheadMilliseconds) throw invalidValues({ sendAt: 'Give a time within a year.' });
  return isoTime(Math.max(time, earliest));
}

const quotedFields = ['subject', 'from', 'to', 'cc', 'content', 'messageId', 'sentAt'];

/** The e-mail that is answered. A role that may not read all of what a reply quotes may not reply. */
async function loadOriginal(context: RecordContext, key: number): Promise<StoredDraft> {
  const { emails, grant } = requireEmailGrant(context, 'get');
  for (const name of quotedFields)
    if (!grant.may(getField(emails, name)))
      throw new ApiError('FIELD_DENIED', `The role may not read "${name}" of emails, so it cannot reply to them.`);
  await getRecord(context, emails, requestByKeys('get', key));
  const original = await readDraft(context.database, key);
  if (!original) throw new ApiError('RECORD_UNKNOWN', 'The e-mail was deleted.');
  return original;
}
