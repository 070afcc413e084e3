/**
 * Messages that are written here: drafts, and what waits to be sent. A message is composed, parsed and its bytes are kept before
 * the transaction begins; a refusal inside it leaves no rows, and bytes that nothing refers to.
 */
import { hash, randomUUID } from 'node:crypto';
import { isoTime } from '../../base/clock.ts';
import { DraftRows, readDraft, readFiles, readSender, type StoredDraft } from '../../database/mail/draft-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { MailWriter } from '../../database/mail/mail-writer.ts';
import { queueMail, unqueueMail } from '../../database/mail/outbox-rows.ts';
import { actorOf } from '../../identity/caller.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { statesAt, writeHistory } from '../../records/history.ts';
import { conversationsChanged, conversationsLeft, MailboxCounts, tell } from '../../records/mail-changes.ts';
import { requireGrant } from '../../records/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { recordsInSight, sightOf } from '../../records/records-in-sight.ts';
import { countersIn, type Match } from '../../records/write-steps.ts';
import type { MailStore } from '../mail-store.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import type { IngestBy, MailAccount } from '../store/incoming-mail.ts';
import { addParticipants } from '../store/ingest.ts';
import { rolePlace } from '../store/mailbox-place.ts';
import { put, requireReach } from '../store/move-mail.ts';
import { indexedWords, newEmail, type ReadMail } from '../store/new-email.ts';
import { composeMessage, type LoadedFile } from './compose-message.ts';
import { type Draft, type DraftFile, emptyDraft } from './draft.ts';
import type { WrittenFile, WrittenMail } from './written-mail.ts';

/** A message that is ready to be stored. */
export interface ReadyMail {
  readonly account: MailAccount;
  /** The draft that it goes on from; null where it is new. */
  readonly before: StoredDraft | null;
  readonly draft: Draft;
  readonly ready: ReadMail;
}

/** A draft of an account that nobody has written anything of. */
export function newDraft({ address }: MailAccount): Draft {
  const domain = /@([A-Za-z0-9.-]+)$/.exec(address)?.[1] ?? 'mail.invalid';
  return emptyDraft(`${randomUUID()}@${domain}`);
}

/**
 * The draft that a request goes on from.
 *
 * @throws ApiError 403 or 404 where it is out of reach, 403 where it is no draft, 412 where it is another version.
 */
export async function draftInReach(
  context: RecordContext,
  id: number,
  match: Match,
): Promise<{ readonly before: StoredDraft; readonly draft: Draft }> {
  await requireReach(context, [id], 'update');
  const before = await readDraft(context.database, id, context.inside ?? undefined);
  if (!before?.draft)
    throw new ApiError(
      'SYSTEM_PROTECTED',
      'The e-mail is no draft; what came, and what was sent, is not written anew.',
    );
  if (countersIn(match)?.includes(before.version) === false) throw stale();
  return { before, draft: (before.source as Draft | null) ?? (await draftOfStored(context, before)) };
}

const stale = (): ApiError => new ApiError('VERSION_STALE', 'The draft has changed since; read it again.');

/** A draft that another program has written. */
async function draftOfStored({ database }: RecordContext, stored: StoredDraft): Promise<Draft> {
  const list = (value: readonly MailAddress[]): MailAddress[] => value.filter((each) => each.address !== '');
  return {
    ...emptyDraft(stored.messageId ?? newDraft({ id: stored.accountId, address: '' }).messageId),
    to: list(stored.to),
    cc: list(stored.cc),
    bcc: list(stored.bcc),
    subject: stored.subject.slice(0, mailLimits.subjectLength).replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    text: stored.text,
    html: stored.html,
    inReplyTo: stored.inReplyTo[0] ?? null,
    references: stored.references,
    files: await readFiles(database, { email: stored.id }),
  };
}

/** Composes what is to be stored; nothing but bytes is kept yet. */
export async function readyMail(
  context: RecordContext,
  mail: MailStore,
  account: MailAccount,
  before: StoredDraft | null,
  base: Draft,
  written: WrittenMail,
  draft: boolean,
): Promise<ReadyMail> {
  const sender = await readSender(context.database, account.id);
  const files = await loaded(context, mail, account, base.files, written.files);
  const whole = merged(base, written, files);
  if (!draft && recipientsOf(whole).length === 0)
    throw invalidValues({ to: 'Name somebody to whom the message goes, in to, cc or bcc.' });
  const now = context.clock.now();
  const raw = await composeMessage(whole, sender, files, now, !draft);
  await mail.blobs.put(account.id, files);
  const flags = { read: true, starred: false, answered: false, draft };
  const nowhere = { id: 0, folder: '' };
  const ready = await mail.ingest.prepare(account, { raw, mailbox: nowhere, receivedAt: isoTime(now), flags });
  return { account, before, draft: whole, ready: { ...ready, mail: { ...ready.mail, bcc: whole.bcc } } };
}

function merged(base: Draft, { to, cc, bcc, subject, text, html }: WrittenMail, files: readonly LoadedFile[]): Draft {
  const kept = files.map(({ filename, contentType, sha256, size, contentId }): DraftFile => {
    return { filename, contentType, sha256, size, contentId };
  });
  return {
    ...base,
    to: to ?? base.to,
    cc: cc ?? base.cc,
    bcc: bcc ?? base.bcc,
    subject: subject ?? base.subject,
    // They are one body: whoever names one of them has not seen to the other.
    ...(text === undefined && html === undefined ? {} : { text: text ?? null, html: html ?? null }),
    files: kept,
  };
}

export function recipientsOf({ to, cc, bcc }: Pick<Draft, 'to' | 'cc' | 'bcc'>): string[] {
  return [...new Map([...to, ...cc, ...bcc].map(({ address }) => [address.toLowerCase(), address])).values()];
}

/** The files of a message with their bytes; those of other messages only where the caller sees them. */
async function loaded(
  context: RecordContext,
  mail: MailStore,
  account: MailAccount,
  base: readonly DraftFile[],
  written: readonly WrittenFile[] | undefined,
): Promise<LoadedFile[]> {
  const known = written ? await inSight(context, written) : new Map<number, KnownFile>();
  const wanted: readonly (KnownFile | LoadedFile)[] = written
    ? written.map((each) => ('id' in each ? known.get(each.id)! : withHash(each)))
    : base.map((each) => ({ ...each, accountId: account.id }));
  if (wanted.reduce((sum, { size }) => sum + size, 0) > mailLimits.fileBytes)
    throw invalidValues({ attachments: `The files of a message have at most ${mailLimits.fileBytes} bytes together.` });
  const files: LoadedFile[] = [];
  for (const each of wanted) {
    if ('bytes' in each) {
      files.push(each);
      continue;
    }
    const bytes = await mail.blobs.get(each.accountId, each.sha256);
    if (!bytes) throw new ApiError('REFERENCE_MISSING', 'attachments: the bytes of a file are gone; attach it again.');
    files.push({ ...each, bytes });
  }
  return files;
}

type KnownFile = DraftFile & { readonly accountId: number };

function withHash({ bytes, ...rest }: Exclude<WrittenFile, { id: number }>): LoadedFile {
  return { ...rest, sha256: hash('sha256', bytes), size: bytes.length, bytes };
}

/** Whoever may not read what a file is may not send it on either. */
async function inSight(context: RecordContext, written: readonly WrittenFile[]): Promise<Map<number, KnownFile>> {
  const ids = [...new Set(written.flatMap((each) => ('id' in each ? [each.id] : [])))];
  if (ids.length === 0) return new Map();
  const attachments = context.registry.get('attachments');
  const grant = requireGrant(context, attachments, 'get');
  if (!grant.may(attachments.byName.get('sha256')!))
    throw new ApiError('FIELD_DENIED', 'The role may not read "sha256" of attachments, and so not send their bytes.');
  const seen = await recordsInSight(context, attachments, grant, sightOf(null), ids);
  if (seen.size < ids.length)
    throw new ApiError('REFERENCE_MISSING', 'attachments: not every attachment that is named is there for you.');
  return new Map((await readFiles(context.database, { ids })).map((each) => [each.id, each]));
}

/** The turn that a transaction takes which writes mail of an account. */
export const turnOf = ({ id }: MailAccount): string => `mail ${id}`;

const byOf = ({ caller, requestId }: RecordContext): IngestBy => ({ actor: actorOf(caller), requestId });

/** Stores a draft, or what is new of it. Returns its key. */
export async function storeDraft(inside: RecordContext, mail: MailStore, written: ReadyMail): Promise<number> {
  const { account, before, draft } = written;
  const transaction = inside.inside!;
  if (before === null) {
    const place = await rolePlace(inside, account.id, 'drafts', 'Drafts');
    return storeNew(inside, mail, written, place);
  }
  await requireUnchanged(inside, before);
  const rows = new DraftRows(inside.database, transaction);
  const email = newEmail(written.ready, before.conversationId, account);
  await rows.rewrite(before.id, email, indexedWords(before.id, account.id, written.ready.mail));
  await rows.setFiles(account.id, before.id, email.attachments);
  await rows.setSource(before.id, draft, draft.bcc);
  await rows.renameConversation(before.conversationId, email.subject);
  const writer = new MailWriter(inside.database, transaction, account.id);
  await writer.addThreadKeys(written.ready.signs.keys.map((key) => [key, before.conversationId]));
  await addParticipants(writer, [written.ready], [before.conversationId]);
  await tell(inside, transaction, 'emails.updated', 'emails', [before.id], ['subject', 'to', 'cc', 'snippet']);
  await conversationsChanged(inside, transaction, [before]);
  return before.id;
}

/** Puts a message into the outbox; the draft that it was is no more. Returns its key. */
export async function storeQueued(
  inside: RecordContext,
  mail: MailStore,
  written: ReadyMail,
  sendAt: string,
): Promise<number> {
  const { account, before, draft } = written;
  const transaction = inside.inside!;
  if (before !== null) {
    await requireUnchanged(inside, before);
    await removeDraft(inside, before);
  }
  const place = await rolePlace(inside, account.id, 'outbox', 'Outbox');
  const email = await storeNew(inside, mail, written, place);
  if (before !== null) await leftByDraft(inside, before, email);
  const sender = account.address;
  const recipients = recipientsOf(draft);
  await queueMail(inside.database, transaction, { account: account.id, email, sendAt, sender, recipients });
  return email;
}

/**
 * Calls a message back that nobody has taken on yet: it is a draft again.
 *
 * @throws ApiError 409 where it is too late.
 */
export async function callBack(inside: RecordContext, id: number): Promise<void> {
  await requireReach(inside, [id], 'update');
  const transaction = inside.inside!;
  if (!(await unqueueMail(inside.database, transaction, id)))
    throw new ApiError('MAIL_NOT_QUEUED', 'The e-mail does not wait to be sent; it cannot be called back.');
  const [place] = await new EmailRows(inside.database, transaction).places([id]);
  const drafts = await rolePlace(inside, place!.accountId, 'drafts', 'Drafts');
  await new DraftRows(inside.database, transaction).setDraft(id, true);
  await put(inside, [place!], drafts, ['draft']);
}

async function storeNew(
  inside: RecordContext,
  mail: MailStore,
  { account, draft, ready }: ReadyMail,
  mailbox: ReadMail['incoming']['mailbox'],
): Promise<number> {
  const transaction = inside.inside!;
  const placed = { ...ready, incoming: { ...ready.incoming, mailbox } };
  const id = await mail.ingest.storeInside(transaction, account, placed, byOf(inside));
  await new DraftRows(inside.database, transaction).setSource(id, draft, draft.bcc);
  return id;
}

/** A message that goes out under another subject is of another conversation; that of its draft goes with the last of its e-mails. */
async function leftByDraft(inside: RecordContext, before: StoredDraft, email: number): Promise<void> {
  const [place] = await new EmailRows(inside.database, inside.inside!).places([email]);
  if (place!.conversationId !== before.conversationId) await conversationsLeft(inside, inside.inside!, [before]);
}

/** The draft as it was when it was composed: somebody else may have been faster, or sent it. */
async function requireUnchanged(inside: RecordContext, before: StoredDraft): Promise<void> {
  const { before: now } = await draftInReach(inside, before.id, null);
  if (now.version !== before.version) throw stale();
}

async function removeDraft(inside: RecordContext, { id }: StoredDraft): Promise<void> {
  const transaction = inside.inside!;
  const emails = inside.registry.get('emails');
  const states = await statesAt(inside, emails, transaction, [id]);
  const rows = new EmailRows(inside.database, transaction);
  const places = await rows.places([id]);
  const removeContent = await rows.forget([id]);
  await new DraftRows(inside.database, transaction).remove(id);
  await removeContent();
  const counts = new MailboxCounts();
  for (const place of places) for (const mailbox of place.mailboxIds) counts.addEmail(mailbox, place, -1);
  await rows.count(counts.changes);
  await tell(inside, transaction, 'emails.destroyed', 'emails', [id]);
  await writeHistory({ context: inside, collection: emails }, transaction, 'destroyed', [id], states);
  await conversationsChanged(inside, transaction, places);
}
