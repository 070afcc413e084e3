/**
 * Local changes of e-mails that the mail server must get. Changes that cancel each other are not sent: a flag that is toggled back,
 * a message that is moved back. A message that is moved twice is moved once on the server.
 */
import type { AccountServer } from '../../database/mail/account-server-rows.ts';
import type { MailOperation } from '../../database/mail/operation-rows.ts';
import { type ServerPlacement, ServerPlacementRows } from '../../database/mail/server-placement-rows.ts';
import { TombstoneRows } from '../../database/mail/tombstone-rows.ts';
import { planFlags } from './flag-operations.ts';
import { type MailTransaction, readNow } from './mail-transaction.ts';
import { queueMailboxCreation } from './mailbox-operations.ts';
import { findBringing, findPosition, type ServerMessagePosition } from './operation-positions.ts';
import { OperationQueue } from './operation-queue.ts';
import { applyServerFlags } from './server-changes.ts';
import { diffServerFlags, type FlagWishes } from './server-flags.ts';

/** A move of e-mails between mailboxes of their account, after it was made here. */
export interface LocalMove {
  readonly emails: readonly number[];
  /** All placements of the e-mails before the move. */
  readonly before: readonly ServerPlacement[];
  /** The mailbox that they left; null: all their mailboxes. */
  readonly from: number | null;
  readonly to: number;
  /** Other mailboxes that they were put into, too. */
  readonly copies: readonly number[];
  /** E-mails that leave the outbox: the server does not have them, and gets them. */
  readonly sent: ReadonlySet<number>;
}

/** Local changes of one account with an IMAP server, in one transaction. */
export class LocalOperations {
  readonly #mail: MailTransaction;
  readonly #account: number;
  readonly #placements: ServerPlacementRows;

  constructor(mail: MailTransaction, { accountId }: Pick<AccountServer, 'accountId'>) {
    this.#mail = mail;
    this.#account = accountId;
    this.#placements = new ServerPlacementRows(mail.database, mail.transaction);
  }

  /** Queues changes of flags, by e-mail. */
  async queueFlags(changes: ReadonlyMap<number, FlagWishes>): Promise<void> {
    const emails = [...changes].filter(([, wishes]) => wishes.size > 0).map(([email]) => email);
    if (emails.length === 0) return;
    const queue = await OperationQueue.ofEmails(this.#mail, this.#account, emails);
    for (const [email, placements] of groupByEmail(await this.#placements.readByEmails(emails)))
      planFlags(queue, email, placements, changes.get(email) ?? new Map());
    await queue.flush();
  }

  /** Queues a move. */
  async queueMoves(move: LocalMove): Promise<void> {
    const queue = await OperationQueue.ofEmails(this.#mail, this.#account, move.emails);
    const now = await this.#placements.readByEmails(move.emails);
    if (!(await queueMailboxCreation(this.#mail, this.#account, move.to))) {
      // The target only exists here, so messages that were to be stored on the server are no longer sent to it.
      for (const each of queue.all) if (each.kind === 'append' && each.status === 'queued') queue.remove(each);
      return queue.flush();
    }
    const [before, after] = [groupByEmail(move.before), groupByEmail(now)];
    for (const email of move.emails) {
      const target = after.get(email)?.find((each) => each.mailboxId === move.to);
      if (target) await this.#queueMove(queue, move, before.get(email) ?? [], target);
    }
    for (const copy of move.copies)
      await this.#queueCopies(
        queue,
        now.filter(({ mailboxId }) => mailboxId === copy),
      );
    await queue.flush();
    await applyServerFlags(this.#mail, queue, findCopyFlags(before, after, move.to));
  }

  async #queueMove(
    queue: OperationQueue,
    { from, to, copies, sent }: LocalMove,
    before: readonly ServerPlacement[],
    target: ServerPlacement,
  ): Promise<void> {
    const email = target.emailId;
    const isSource = ({ mailboxId }: ServerPlacement): boolean =>
      from === null ? mailboxId !== to && !copies.includes(mailboxId) : mailboxId === from;
    const present = before.find(({ mailboxId, isLost }) => mailboxId === to && !isLost);
    let isThere =
      present !== undefined && (present.uid !== null || findBringing(present, queue.ofEmail(email)) !== undefined);
    const sources = before.filter(isSource);
    const known = sources.filter(({ isLost }) => !isLost);
    // A lost message stays lost. If it is found where it was, it is moved; if it is found elsewhere, it is shown there.
    const lost = known.length === 0 && !isThere ? sources.slice(0, 1) : [];
    for (const source of [...known, ...lost]) {
      const operations = queue.ofEmail(email);
      const position = findPosition(source, operations);
      const bringing = findBringing(source, operations);
      if (position) {
        const after = planMove(queue, position, to, isThere);
        if (after) await this.#placements.setPosition(target.id, after);
        isThere = true;
      } else if (bringing) {
        if (isThere) queue.remove(bringing);
        else queue.replace(bringing, { mailboxId: to });
        isThere = true;
      } else if (sent.has(email) && !isThere) {
        queue.add({ kind: 'append', emailId: email, mailboxId: to });
        isThere = true;
      }
    }
    if (lost.length > 0) await this.#placements.markLost(this.#account, [target.id], readNow(this.#mail));
    if (copies.length > 0 && sources.length === 0) await this.#queueCopies(queue, [target]);
  }

  /**
   * Queues that e-mails are stored in a further mailbox, by their placements there. If the deletion of a copy has not
   * been sent yet, the copy still exists on the server, and the deletion is cancelled.
   */
  async #queueCopies(queue: OperationQueue, placements: readonly ServerPlacement[]): Promise<void> {
    const [{ mailboxId } = { mailboxId: 0 }] = placements;
    if (placements.length === 0 || !(await queueMailboxCreation(this.#mail, this.#account, mailboxId))) return;
    for (const placement of placements) {
      const operations = queue.ofEmail(placement.emailId);
      if (placement.isLost || findPosition(placement, operations) || findBringing(placement, operations)) continue;
      const deletion = operations.find(
        (each) => isCopyDeletion(each) && each.status === 'queued' && each.mailboxId === mailboxId && each.uid !== null,
      );
      if (!deletion) queue.add({ kind: 'append', emailId: placement.emailId, mailboxId });
      else {
        const { uidvalidity, uid, payload } = deletion;
        queue.remove(deletion);
        const confirmed = { modseq: payload?.modseq ?? null, flags: payload?.flags ?? null };
        await this.#placements.setPosition(placement.id, { uidvalidity, uid, ...confirmed });
      }
    }
  }

  /** Queues the deletion of e-mails that are about to be permanently deleted, and stores their tombstones. */
  async queueDeletes(emails: readonly number[]): Promise<void> {
    const queue = await OperationQueue.ofEmails(this.#mail, this.#account, emails);
    const deleted = new Set<number>();
    for (const placement of await this.#placements.readByEmails(emails))
      if (planDelete(queue, placement)) deleted.add(placement.emailId);
    for (const each of queue.all) {
      if (each.status !== 'queued') continue;
      if (each.kind === 'flags') queue.remove(each);
      if (!isCopyDeletion(each)) continue;
      queue.replace(each, { targetId: null, payload: { isFinal: true } });
      if (each.emailId !== null) deleted.add(each.emailId);
    }
    await queue.flush();
    const tombstones = new TombstoneRows(this.#mail.database, this.#mail.transaction, this.#account);
    await tombstones.addForEmails([...deleted], readNow(this.#mail));
  }

  /** Queues that an e-mail is stored in a mailbox of the server. */
  async queueAppend(email: number, mailbox: number): Promise<void> {
    if (!(await queueMailboxCreation(this.#mail, this.#account, mailbox))) return;
    const queue = await OperationQueue.ofEmails(this.#mail, this.#account, [email]);
    const isQueued = queue.all.some((each) => each.kind === 'append' && each.mailboxId === mailbox);
    if (!isQueued) queue.add({ kind: 'append', emailId: email, mailboxId: mailbox });
    await queue.flush();
  }

  /**
   * Queues a new version of a draft: the server gets it as another message, then the former one is deleted there.
   *
   * @param notBefore ISO 8601: later versions until then replace this one.
   */
  async queueDraft(email: number, notBefore: string): Promise<void> {
    const queue = await OperationQueue.ofEmails(this.#mail, this.#account, [email]);
    for (const placement of await this.#placements.readByEmails([email])) {
      const operations = queue.ofEmail(email);
      const position = placement.isLost ? null : findPosition(placement, operations);
      const bringing = findBringing(placement, operations);
      const { mailboxId } = placement;
      if (!position && bringing) {
        queue.replace(bringing, { notBefore });
        continue;
      }
      if (!(await queueMailboxCreation(this.#mail, this.#account, mailboxId))) continue;
      if (bringing?.status === 'queued') queue.remove(bringing);
      queue.add({ kind: 'append', emailId: email, mailboxId, notBefore });
      if (!position) continue;
      queue.add({ kind: 'delete', emailId: email, ...readSource(position), payload: { isFinal: false } });
      await this.#placements.setPosition(placement.id, { uidvalidity: null, uid: null, modseq: null, flags: null });
    }
    await queue.flush();
  }
}

const readSource = ({
  mailboxId,
  uidvalidity,
  uid,
}: ServerMessagePosition): Pick<ServerMessagePosition, 'mailboxId' | 'uidvalidity' | 'uid'> => ({
  mailboxId,
  uidvalidity,
  uid,
});

/**
 * The flags of an e-mail are those of one of its messages. If this message is moved to a mailbox that has a copy of it,
 * the e-mail takes the flags of the copy. They may differ: another program has changed them and moved the message, and
 * the server has not yet reported that it is gone from its former mailbox.
 */
function findCopyFlags(
  before: ReadonlyMap<number, readonly ServerPlacement[]>,
  after: ReadonlyMap<number, readonly ServerPlacement[]>,
  to: number,
): Map<number, ReadonlyMap<string, boolean>> {
  const changes = new Map<number, ReadonlyMap<string, boolean>>();
  for (const [email, placements] of before) {
    const followed = placements.find(({ flags }) => flags !== null);
    const copy = placements.find(({ mailboxId, uid }) => mailboxId === to && uid !== null);
    const isLeft = !after.get(email)?.some(({ id }) => id === followed?.id);
    if (followed?.flags && copy?.flags && isLeft) changes.set(email, diffServerFlags(followed.flags, copy.flags));
  }
  return changes;
}

const groupByEmail = (placements: readonly ServerPlacement[]): Map<number, ServerPlacement[]> =>
  Map.groupBy(placements, ({ emailId }) => emailId);

/** @param isThere the server has the message in the target already, or will. @returns what is known of the message in the target; null: nothing new. */
function planMove(
  queue: OperationQueue,
  position: ServerMessagePosition,
  to: number,
  isThere: boolean,
): Pick<ServerPlacement, 'uidvalidity' | 'uid' | 'modseq' | 'flags'> | null {
  const { operation, placement, flags } = position;
  const waiting = { uidvalidity: null, uid: null, modseq: null, flags };
  if (operation?.kind === 'move' && operation.status === 'queued') {
    if (isThere) toCopyDeletion(queue, operation, to);
    else if (operation.mailboxId === to) {
      queue.remove(operation);
      const { uidvalidity, uid, payload } = operation;
      return { uidvalidity, uid, modseq: payload?.modseq ?? null, flags };
    } else queue.replace(operation, { targetId: to });
    return isThere ? null : waiting;
  }
  const { emailId, modseq } = placement;
  if (isThere) {
    const payload = { isFinal: false, modseq, flags };
    queue.add({ kind: 'delete', emailId, ...readSource(position), targetId: to, payload });
    return null;
  }
  queue.add({ kind: 'move', emailId, ...readSource(position), targetId: to, payload: { modseq, flags } });
  return waiting;
}

/** The message at the source of a move is only deleted: the server has it in the target already. */
export function toCopyDeletion(queue: OperationQueue, operation: MailOperation, targetId = operation.targetId): void {
  queue.replace(operation, { kind: 'delete', targetId, payload: { ...operation.payload, isFinal: false } });
}

/**
 * Whether an operation deletes one of several copies of a message. It is only sent while the server has another one: if that is gone, this
 * one is the last, and is moved instead.
 */
export const isCopyDeletion = ({ kind, targetId }: MailOperation): boolean => kind === 'delete' && targetId !== null;

/** @returns whether the server has the message, or may show it again. */
function planDelete(queue: OperationQueue, placement: ServerPlacement): boolean {
  const { emailId } = placement;
  const operations = queue.ofEmail(emailId);
  const position = findPosition(placement, operations);
  const payload = { isFinal: true };
  if (!position || placement.isLost) {
    const bringing = findBringing(placement, operations);
    if (bringing) queue.remove(bringing);
    // The position of the message is not known; the operation waits until the message is shown somewhere, or is known
    // to be deleted.
    if (placement.isLost) queue.add({ kind: 'delete', emailId, payload });
    return placement.isLost;
  }
  const { operation } = position;
  if (operation?.kind === 'move' && operation.status === 'queued')
    queue.replace(operation, { kind: 'delete', targetId: null, payload });
  else queue.add({ kind: 'delete', emailId, ...readSource(position), payload });
  return true;
}
