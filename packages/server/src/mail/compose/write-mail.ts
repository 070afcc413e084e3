/**
 * Messages that are written here: drafts, and messages that wait to be sent. A message is composed, parsed and its bytes are
 * stored before the transaction begins. If the transaction is refused, no rows remain, and the blob sweep removes the bytes.
 */
import { hash, randomUUID } from 'node:crypto';
import { getFirst } from '../../base/aligned-lists.ts';
import { isoTime } from '../../base/clock.ts';
import { findOwnAddresses, readServers } from '../../database/mail/account-rows.ts';
import { DraftRows, readDraft, readFiles, type StoredDraft, type StoredFile } from '../../database/mail/draft-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { readAccountAddresses } from '../../database/mail/identity-rows.ts';
import { MailWriter } from '../../database/mail/mail-writer.ts';
import { queueMail, setDelivery } from '../../database/mail/outbox-rows.ts';
import { SubjectPartyRows } from '../../database/mail/subject-party-rows.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { readStates, writeHistory } from '../../records/write/history.ts';
import { type IfMatch, requiredCounters } from '../../records/write/write-steps.ts';
import { getField } from '../../schema/registry.ts';
import { createDeliveryState, smtpMissing } from '../delivery/delivery-state.ts';
import { selectSender } from '../delivery/identities.ts';
import type { MailStore } from '../mail-store.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { accountDeletedError } from '../store/account-deleted.ts';
import { bodyRemoteError } from '../store/body-remote.ts';
import type { IngestActor, MailAccount } from '../store/incoming-mail.ts';
import { addParticipants } from '../store/join-conversations.ts';
import { queueDraftVersion, queueNewMessage, queueRemoval } from '../store/local-changes.ts';
import { removeEmptyConversations, updateConversations } from '../store/mail-changes.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { MailboxCounts } from '../store/mailbox-counts.ts';
import { requireEmailAccess } from '../store/move-mail.ts';
import { buildEmail, buildIndexEntry, type ParsedIncomingMail } from '../store/new-email.ts';
import { resolveRoleMailbox } from '../store/resolve-mailbox.ts';
import { composeMessage, type LoadedFile } from './compose-message.ts';
import { type Draft, type DraftFile, emptyDraft } from './draft.ts';
import type { MailFileInput, MailInput } from './mail-input.ts';
import { markOriginal } from './mark-original.ts';

/** A message that is ready to be stored, see {@link prepareMail}. */
export interface PreparedMail {
  readonly account: MailAccount;
  /** The stored draft that it continues; null for a new message. */
  readonly previous: StoredDraft | null;
  readonly draft: Draft;
  /** The address that it is sent from. */
  readonly sender: string;
  readonly parsed: ParsedIncomingMail;
}

/** A new, empty draft of an account. */
export function createDraft({ address }: MailAccount): Draft {
  const domain = /@([A-Za-z0-9.-]+)$/.exec(address)?.[1] ?? 'mail.invalid';
  return emptyDraft(`${randomUUID()}@${domain}`);
}

/**
 * The draft that a request continues.
 *
 * @throws ApiError `NO_PERMISSION` or `RECORD_UNKNOWN` if the caller cannot change it, `SYSTEM_PROTECTED` for an e-mail
 * that is not a draft, `VERSION_STALE` if `match` names another version.
 */
export async function requireEditableDraft(
  context: RecordContext,
  id: number,
  match: IfMatch,
): Promise<{ readonly previous: StoredDraft; readonly draft: Draft }> {
  await requireEmailAccess(context, [id], 'update');
  const previous = await readDraft(context.database, id, context.tx ?? undefined);
  if (!previous?.draft)
    throw new ApiError('SYSTEM_PROTECTED', 'The e-mail is not a draft. Received and sent messages cannot be changed.');
  if (requiredCounters(match)?.includes(previous.version) === false) throw staleDraftError();
  const source = previous.source as Draft | null;
  // A message that a user sends is neither an automatic reply nor part of a campaign, even if the draft was.
  if (!source) return { previous, draft: await toDraft(context, previous) };
  const { unsubscribeUrl: _, ...draft } = source;
  return { previous, draft: { ...draft, automatic: false } };
}

const staleDraftError = (): ApiError =>
  new ApiError('VERSION_STALE', 'The draft was changed since it was read. Read it again.');

/** The draft of a message that another program has written. */
async function toDraft({ database }: RecordContext, stored: StoredDraft): Promise<Draft> {
  const withAddress = (value: readonly MailAddress[]): MailAddress[] => value.filter((each) => each.address !== '');
  return {
    ...emptyDraft(stored.messageId ?? createDraft({ id: stored.accountId, address: '' }).messageId),
    to: withAddress(stored.to),
    cc: withAddress(stored.cc),
    bcc: withAddress(stored.bcc),
    subject: stored.subject.slice(0, mailLimits.subjectLength).replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    text: stored.text,
    html: stored.html,
    inReplyTo: stored.inReplyTo[0] ?? null,
    references: stored.references,
    files: (await readFiles(database, { email: stored.id })).map(requireBytes),
  };
}

/** The contents of a new version of a message. */
export interface DraftBase {
  readonly account: MailAccount;
  /** The stored draft that the message continues; null for a new message. */
  readonly previous: StoredDraft | null;
  readonly draft: Draft;
}

/** The writer, and where bytes are stored. */
export interface MailWriting {
  readonly context: RecordContext;
  readonly mail: MailStore;
}

/**
 * Composes and parses a message before its transaction begins. Only bytes are stored.
 *
 * @param input what the request changes of the base.
 * @param isDraft false: the message is sent, so it needs a recipient.
 * @throws ApiError 422 naming the member; `REFERENCE_MISSING` for a file that the caller cannot see.
 */
export async function prepareMail(
  { context, mail }: MailWriting,
  { account, previous, draft: base }: DraftBase,
  input: MailInput,
  isDraft: boolean,
): Promise<PreparedMail> {
  const files = await loadFiles({ context, mail }, account, base.files, input.files);
  const whole = mergeDraft(base, input, files);
  const addresses = await readAccountAddresses(context.database, null, account.id);
  if (!addresses) throw accountDeletedError();
  const sender = selectSender(addresses, whole.from ?? null);
  if (!isDraft && collectRecipients(whole).length === 0)
    throw invalidValues({ to: 'Name at least one recipient in "to", "cc" or "bcc".' });
  const now = context.clock.now();
  const raw = await composeMessage(whole, sender, files, { now, isOutgoing: !isDraft });
  await mail.blobs.put(account.id, files);
  const flags = { read: true, starred: false, answered: false, draft: isDraft };
  const noMailbox = { id: 0, folder: '' };
  const parsed = await mail.ingest.prepare(account, { raw, mailbox: noMailbox, receivedAt: isoTime(now), flags });
  return {
    account,
    previous,
    draft: whole,
    sender: sender.address,
    parsed: { ...parsed, mail: { ...parsed.mail, bcc: whole.bcc } },
  };
}

function mergeDraft(
  base: Draft,
  { from, to, cc, bcc, subject, text, html }: MailInput,
  files: readonly LoadedFile[],
): Draft {
  const draftFiles = files.map(({ filename, contentType, sha256, size, contentId }): DraftFile => {
    return { filename, contentType, sha256, size, contentId };
  });
  return {
    ...base,
    from: from === undefined ? (base.from ?? null) : from,
    to: to ?? base.to,
    cc: cc ?? base.cc,
    bcc: bcc ?? base.bcc,
    subject: subject ?? base.subject,
    // Text and HTML are alternatives of one body: a request with one of them replaces both.
    ...(text === undefined && html === undefined ? {} : { text: text ?? null, html: html ?? null }),
    files: draftFiles,
  };
}

/** The addresses of all recipients, each once. */
export function collectRecipients({ to, cc, bcc }: Pick<Draft, 'to' | 'cc' | 'bcc'>): string[] {
  return [...new Map([...to, ...cc, ...bcc].map(({ address }) => [address.toLowerCase(), address])).values()];
}

/** The files of a message with their bytes. Files of other messages need the caller's permission to read them. */
async function loadFiles(
  { context, mail }: MailWriting,
  account: MailAccount,
  base: readonly DraftFile[],
  input: readonly MailFileInput[] | undefined,
): Promise<LoadedFile[]> {
  const knownFiles = input ? await readVisibleFiles(context, input) : new Map<number, KnownFile>();
  const wanted: readonly (KnownFile | LoadedFile)[] = input
    ? input.map((each) => ('id' in each ? requireFile(knownFiles, each.id) : withHash(each)))
    : base.map((each) => ({ ...each, accountId: account.id }));
  if (wanted.reduce((sum, { size }) => sum + size, 0) > mailLimits.fileBytes)
    throw invalidValues({
      attachments: `The files of a message may have at most ${mailLimits.fileBytes} bytes in total.`,
    });
  const files: LoadedFile[] = [];
  for (const each of wanted) {
    if ('bytes' in each) {
      files.push(each);
      continue;
    }
    const bytes = await mail.blobs.get(each.accountId, each.sha256);
    if (!bytes)
      throw new ApiError(
        'REFERENCE_MISSING',
        'The bytes of a file in "attachments" were deleted. Attach the file again.',
      );
    files.push({ ...each, bytes });
  }
  return files;
}

function requireFile(files: ReadonlyMap<number, KnownFile>, id: number): KnownFile {
  const file = files.get(id);
  if (file) return file;
  throw new ApiError('REFERENCE_MISSING', '"attachments" names an attachment that does not exist.');
}

type KnownFile = DraftFile & { readonly accountId: number };

/** @throws ApiError `MAIL_BODY_REMOTE` for a file whose bytes are not stored yet. */
function requireBytes(file: StoredFile): StoredFile & { readonly sha256: string } {
  const { sha256 } = file;
  if (sha256 === null) throw bodyRemoteError();
  return { ...file, sha256 };
}

function withHash({ bytes, ...rest }: Exclude<MailFileInput, { id: number }>): LoadedFile {
  return { ...rest, sha256: hash('sha256', bytes), size: bytes.length, bytes };
}

/** The files that the request names by id. */
async function readVisibleFiles(
  context: RecordContext,
  input: readonly MailFileInput[],
): Promise<Map<number, KnownFile>> {
  const ids = [...new Set(input.flatMap((each) => ('id' in each ? [each.id] : [])))];
  await requireReadableFiles(context, ids);
  return new Map((await readFiles(context.database, { ids })).map((each) => [each.id, requireBytes(each)]));
}

/**
 * A role that may not read a file may not send it either.
 *
 * @throws ApiError `NO_PERMISSION`, `FIELD_DENIED`, `REFERENCE_MISSING`
 */
export async function requireReadableFiles(context: RecordContext, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const attachments = context.registry.get('attachments');
  const grant = requireGrant(context, attachments, 'get');
  if (!grant.may(getField(attachments, 'sha256')))
    throw new ApiError('FIELD_DENIED', 'The role may not read "sha256" of attachments, so it cannot send their bytes.');
  const visible = await readVisibleRecords(context, attachments, grant, createVisibilityQuery(null), ids);
  if (visible.size < ids.length)
    throw new ApiError(
      'REFERENCE_MISSING',
      '"attachments" names an attachment that does not exist, or that you cannot see.',
    );
}

/** A draft is sent to the mail server when it has not been saved for this long. */
const draftQuietMilliseconds = 10_000;

/** The lock that a transaction holds while it writes mail of an account. */
export const mailLockKey = ({ id }: Pick<MailAccount, 'id'>): string => `mail ${id}`;

const toIngestActor = ({ caller, requestId }: RecordContext): IngestActor => ({
  actor: formatActor(caller),
  requestId,
});

/** Stores a new draft, or rewrites the one that it continues. @returns its key. */
export async function storeDraft(tx: TransactionContext, mail: MailStore, prepared: PreparedMail): Promise<number> {
  const { account, previous, draft } = prepared;
  const transaction = tx.tx;
  if (previous === null) {
    const mailbox = await resolveRoleMailbox(tx, account.id, 'drafts', 'Drafts');
    const id = await storeNew(tx, mail, prepared, mailbox);
    const placement = getFirst(await new EmailRows(tx.database, transaction).readPlacements([id]));
    await queueNewMessage(tx, transaction, placement);
    return id;
  }
  await requireUnchanged(tx, previous);
  const rows = new DraftRows(tx.database, transaction);
  const accountAddresses = (await findOwnAddresses(tx.database, transaction, account.id)) ?? new Set<string>();
  const email = buildEmail(prepared.parsed, previous.conversationId, accountAddresses);
  // The draft stays in its conversation, so its new subject is not indexed; a rebuild of the conversations indexes it again.
  await new SubjectPartyRows(tx.database, transaction, account.id).deleteByEmails([previous.id]);
  await rows.rewrite(previous.id, email, buildIndexEntry(previous.id, account.id, prepared.parsed.mail));
  await rows.setFiles(account.id, previous.id, email.attachments);
  await rows.setSource(previous.id, draft, draft.bcc);
  await rows.renameConversation(previous.conversationId, email.subject);
  const writer = new MailWriter(tx.database, transaction, account.id);
  await writer.addThreadKeys(prepared.parsed.threadKeys.keys.map((key) => [key, previous.conversationId]));
  await addParticipants(writer, [[prepared.parsed, previous.conversationId]]);
  await emitMailEvent(tx, transaction, {
    name: 'emails.updated',
    keys: [previous.id],
    changed: ['subject', 'to', 'cc', 'snippet'],
  });
  await updateConversations(tx, transaction, [previous]);
  const placements = await new EmailRows(tx.database, transaction).readPlacements([previous.id]);
  await queueDraftVersion(tx, transaction, getFirst(placements), isoTime(tx.clock.now() + draftQuietMilliseconds));
  // As in any update, the draft must still match the role's row filter.
  await requireEmailAccess(tx, [previous.id], 'update');
  return previous.id;
}

/** Stores a message in the outbox, and deletes the draft that it continues. @returns its key. */
export async function storeQueued(
  tx: TransactionContext,
  mail: MailStore,
  prepared: PreparedMail,
  sendAt: string,
): Promise<number> {
  const { account, previous, draft } = prepared;
  const transaction = tx.tx;
  if (previous !== null) {
    await requireUnchanged(tx, previous);
    await removeDraft(tx, previous);
  }
  const mailbox = await resolveRoleMailbox(tx, account.id, 'outbox', 'Outbox');
  const marked = { ...prepared, draft: await markOriginal(tx, account.id, draft) };
  const email = await storeNew(tx, mail, marked, mailbox);
  if (previous !== null) await leaveDraftConversation(tx, previous, email);
  // An empty envelope sender: no delivery report about an automatic reply is returned.
  const sender = draft.automatic === true ? '' : prepared.sender;
  const recipients = collectRecipients(draft);
  await queueMail(tx.database, transaction, { account: account.id, email, sendAt, sender, recipients });
  const { smtp } = await readServers(tx.database, transaction, account.id);
  const problem = smtp === null ? { ...smtpMissing, at: isoTime(tx.clock.now()) } : null;
  const state = { ...createDeliveryState(sendAt, recipients), problem };
  await setDelivery(tx.database, transaction, email, { state, status: 'queued' });
  transaction.afterDurable(() => mail.delivery.wake());
  return email;
}

async function storeNew(
  tx: TransactionContext,
  mail: MailStore,
  { account, draft, parsed }: PreparedMail,
  mailbox: ParsedIncomingMail['incoming']['mailbox'],
): Promise<number> {
  const transaction = tx.tx;
  const placedMail = { ...parsed, incoming: { ...parsed.incoming, mailbox } };
  const id = await mail.ingest.storeInTransaction(transaction, account, placedMail, toIngestActor(tx));
  await new DraftRows(tx.database, transaction).setSource(id, draft, draft.bcc);
  return id;
}

/**
 * If the subject changed, the sent message is in another conversation, and the conversation of the draft is deleted if
 * it is empty now.
 */
async function leaveDraftConversation(tx: TransactionContext, previous: StoredDraft, email: number): Promise<void> {
  const placement = getFirst(await new EmailRows(tx.database, tx.tx).readPlacements([email]));
  if (placement.conversationId !== previous.conversationId) await removeEmptyConversations(tx, tx.tx, [previous]);
}

/** @throws ApiError `VERSION_STALE` if the draft was changed or sent while this version was composed. */
async function requireUnchanged(tx: TransactionContext, previous: StoredDraft): Promise<void> {
  const { previous: current } = await requireEditableDraft(tx, previous.id, null);
  if (current.version !== previous.version) throw staleDraftError();
}

async function removeDraft(tx: TransactionContext, { id }: StoredDraft): Promise<void> {
  const transaction = tx.tx;
  const emails = tx.registry.get('emails');
  const states = await readStates(tx, emails, transaction, [id]);
  const rows = new EmailRows(tx.database, transaction);
  const placements = await rows.readPlacements([id]);
  await queueRemoval(tx, transaction, placements);
  const removeContent = await rows.deleteDependents([id]);
  await new DraftRows(tx.database, transaction).remove(id);
  await removeContent();
  const counts = new MailboxCounts();
  for (const placement of placements)
    for (const mailbox of placement.mailboxIds) counts.addEmail(mailbox, placement, -1);
  await rows.count(counts.changes);
  await emitMailEvent(tx, transaction, { name: 'emails.destroyed', keys: [id] });
  await writeHistory({ context: tx, collection: emails, transaction }, 'destroyed', [id], states);
  await updateConversations(tx, transaction, placements);
}
