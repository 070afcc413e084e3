/** Sending: `emails:send`, replies, forwarding, `emails:cancelSend` and `emails:retrySend`. The delivery worker sends what is in the outbox. */
import { isoTime } from '../../base/clock.ts';
import { readDraft, readFiles, type StoredDraft } from '../../database/mail/draft-rows.ts';
import { readAccountAddresses } from '../../database/mail/identity-rows.ts';
import { readPartialEmail } from '../../database/mail/partial-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { getRecord } from '../../records/read/read-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { getField } from '../../schema/registry.ts';
import { canonicalDatetime } from '../../schema/types/datetime.ts';
import { addSignature } from '../compose/add-signature.ts';
import type { DraftOriginal } from '../compose/draft.ts';
import { mailInputNames, parseMailInput } from '../compose/mail-input.ts';
import { loadWholeMessage, selectOriginalFiles } from '../compose/original-files.ts';
import { buildReply, type ReplyKind } from '../compose/reply-draft.ts';
import {
  createDraft,
  type PreparedMail,
  prepareMail,
  requireReadableFiles,
  storeDraft,
  storeQueued,
} from '../compose/write-mail.ts';
import { chooseReplySender } from '../delivery/identities.ts';
import { cancelSending, retrySending } from '../delivery/send-decisions.ts';
import { isOutsideSendPeriod } from '../delivery/send-period.ts';
import type { MailStore } from '../mail-store.ts';
import { accountDeletedError } from '../store/account-deleted.ts';
import { bodyRemoteError } from '../store/body-remote.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { parseEmailKey, requireEmailKey } from './email-keys.ts';
import { requireEmailGrant, requireFullReadAccess, requireWritable, requireWriter } from './mail-access.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';
import { isDraftNamed, loadDraftBase, lockAccount, requireBooleans, showEmail, signMail } from './own-mail.ts';

/** `emails:send`: puts a new message, or a draft, into the outbox. */
export async function runSend(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireWriter(context, 'create');
  if (isDraftNamed(request)) requireWriter(context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const names = ['account', 'id', 'sendAt', 'followUpAt', 'signature', ...mailInputNames];
  const { account, id, sendAt, followUpAt = null, signature = false, ...rest } = readBodyObject(request, names);
  requireBooleans({ signature });
  const key = parseEmailKey(filterByTk, id);
  const written = parseMailInput(rest);
  requireWritable(context, 'create', signature === true ? { ...rest, text: null } : rest);
  const storedResult = await request.findStoredResult();
  if (storedResult) return storedResult;
  // After the lookup: a repeated request may arrive when its time has passed.
  const sendTime = parseSendTime(sendAt, context.clock.now());
  const base = await loadDraftBase(request, key, account);
  if (key !== null) await requireReadableMessage(context, key);
  const signed = signature === true ? await signMail(context, base, written) : written;
  const prepared = await prepareMail(request, base, signed, false);
  return request.write(lockAccount(prepared), (tx) =>
    queueMessage(tx, mail, prepared, { sendAt: sendTime, followUpAt }),
  );
}

/** `emails:reply`, `emails:replyAll`, `emails:forward`: sends a message that refers to another one, or stores it as a draft. */
export async function runReply(request: MailRequest, kind: ReplyKind): Promise<MailData> {
  const { context, mail } = request;
  requireWriter(context, 'create');
  requireEmailGrant(context, 'get');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const names = [
    'id',
    'sendAt',
    'followUpAt',
    'draft',
    'quote',
    'signature',
    ...(kind === 'forward' ? ['asAttachment'] : []),
    ...mailInputNames,
  ];
  const {
    id,
    sendAt,
    followUpAt = null,
    draft = false,
    quote = true,
    asAttachment = false,
    signature = false,
    ...rest
  } = readBodyObject(request, names);
  requireBooleans({ draft, quote, asAttachment, signature });
  if (draft === true && followUpAt !== null)
    throw invalidValues({ followUpAt: 'A draft has no reminder. Leave it out, and set it when the message is sent.' });
  if (asAttachment === true) requireFullReadAccess(context, 'get');
  const key = requireEmailKey(filterByTk, id);
  const { text = null, html = null, ...written } = parseMailInput(rest);
  requireWritable(context, 'create', signature === true ? { ...rest, text: null } : rest);
  const original = await loadOriginal(request, key);
  const account = await findVisibleAccount(context, String(original.accountId));
  const storedResult = await request.findStoredResult();
  if (storedResult) return storedResult;
  const sendTime = parseSendTime(sendAt, context.clock.now());
  const addresses = await readAccountAddresses(context.database, null, account.id);
  if (!addresses) throw accountDeletedError();
  const own = new Set([account.address, ...addresses.aliases].map((each) => each.toLowerCase()));
  const from = written.from === undefined ? chooseReplySender(addresses, original) : written.from;
  const body = signature === true ? await addSignature(context, account.id, from, { text, html }) : { text, html };
  const reply = buildReply(original, kind, { ...body, quotes: quote === true && asAttachment !== true }, own);
  const takenFiles =
    asAttachment === true
      ? [await loadWholeMessage(request, key, original.subject)]
      : await selectOriginalFiles(context, { key, kind, html: reply.html });
  const files = [...takenFiles, ...(written.files ?? [])];
  const marked: DraftOriginal = { id: key, flag: kind === 'forward' ? 'forwarded' : 'answered' };
  const base = { account, previous: null, draft: { ...createDraft(account), ...reply, from, original: marked } };
  const prepared = await prepareMail(request, base, { ...written, files }, draft === true);
  return request.write(lockAccount(prepared), async (tx) =>
    draft === true
      ? showEmail(tx, await storeDraft(tx, mail, prepared))
      : queueMessage(tx, mail, prepared, { sendAt: sendTime, followUpAt }),
  );
}

/** `emails:cancelSend`: makes a draft of a message in the outbox, or ends the attempts for the recipients that it has not reached. */
export function runCancelSend(request: MailRequest): Promise<MailData> {
  return decide(request, async (tx, key) => {
    const { cancelFollowUp } = await import('../team/follow-ups.ts');
    await cancelFollowUp(tx, key, () => cancelSending(tx, key));
  });
}

/** `emails:retrySend`: sends a message again to the recipients that it has not reached, or whose outcome is unknown. */
export function runRetrySend(request: MailRequest): Promise<MailData> {
  return decide(request, async (tx, key) => {
    await retrySending(tx, key);
    tx.tx.afterDurable(() => request.mail.delivery.wake());
  });
}

async function decide(
  request: MailRequest,
  decision: (tx: TransactionContext, key: number) => Promise<void>,
): Promise<MailData> {
  // Only roles that may send messages may call it, because sending again transmits a message.
  for (const action of ['update', 'create'] as const) requireWriter(request.context, action);
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const key = requireEmailKey(filterByTk, readBodyObject(request, ['id'])['id']);
  return request.write({}, async (tx) => {
    await decision(tx, key);
    return showEmail(tx, key);
  });
}

async function queueMessage(
  tx: TransactionContext,
  mail: MailStore,
  prepared: PreparedMail,
  { sendAt, followUpAt }: { readonly sendAt: string; readonly followUpAt: unknown },
): Promise<MailData> {
  const id = await storeQueued(tx, mail, prepared, sendAt);
  if (followUpAt !== null) {
    requireLater(followUpAt, sendAt);
    const { setFollowUp } = await import('../team/follow-ups.ts');
    await setFollowUp(tx, id, followUpAt);
  }
  return { data: JSON.stringify({ id, accountId: prepared.account.id, status: 'queued', sendAt }) };
}

/** @throws ApiError 422 for a reminder that is due before the message is sent. The rules of conversations check everything else. */
function requireLater(followUpAt: unknown, sendAt: string): void {
  if (typeof followUpAt === 'string' && Date.parse(followUpAt) <= Date.parse(sendAt))
    throw invalidValues({ followUpAt: 'Give a time that is later than the time at which the message is sent.' });
}

/** @returns ISO 8601: not before the end of the time in which sending can be cancelled. */
function parseSendTime(input: unknown, now: number): string {
  const earliest = now + mailLimits.undoMilliseconds;
  if (input === undefined || input === null) return isoTime(earliest);
  const canonical = canonicalDatetime(input);
  if (canonical === null)
    throw invalidValues({ sendAt: 'Give a date and time in ISO 8601, such as 2026-11-20T09:30:00Z.' });
  const time = Date.parse(canonical);
  if (isOutsideSendPeriod(canonical, now))
    throw invalidValues({
      sendAt: `Give a time such as ${isoTime(now + 86_400_000)}. It must be in the future, within a year. Without "sendAt", the message is sent now.`,
    });
  return isoTime(Math.max(time, earliest));
}

const quotedFields = ['subject', 'from', 'to', 'cc', 'content', 'messageId', 'sentAt'];

/** A draft goes to whomever the request names, so a role that may not read all of it may not send it. */
async function requireReadableMessage(context: RecordContext, key: number): Promise<void> {
  await requireReadableText(context, key, 'send stored drafts');
  const files = await readFiles(context.database, { email: key });
  await requireReadableFiles(
    context,
    files.map(({ id }) => id),
  );
}

/** @throws ApiError `NO_PERMISSION`, `FIELD_DENIED` or `RECORD_UNKNOWN` unless the caller may read what a message says. */
async function requireReadableText(context: RecordContext, key: number, purpose: string): Promise<void> {
  const { emails, grant } = requireEmailGrant(context, 'get');
  for (const name of quotedFields)
    if (!grant.may(getField(emails, name)))
      throw new ApiError('FIELD_DENIED', `The role may not read "${name}" of emails, so it cannot ${purpose}.`);
  await getRecord(context, emails, requestByKeys('get', key));
}

/** The e-mail that is answered. A role that may not read all of what a reply quotes may not reply. */
async function loadOriginal({ context, mail }: MailRequest, key: number): Promise<StoredDraft> {
  await requireReadableText(context, key, 'reply to them');
  const partial = await readPartialEmail(context.database, null, key);
  if (partial && !(await mail.fetchBody(key))) throw bodyRemoteError();
  const original = await readDraft(context.database, key);
  if (!original) throw new ApiError('RECORD_UNKNOWN', 'The e-mail was deleted.');
  return original;
}
