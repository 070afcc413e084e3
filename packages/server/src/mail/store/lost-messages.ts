/**
 * E-mails that the mail server no longer shows. Whether they were moved or deleted there is only known when all
 * mailboxes have been read. Until then they are lost, and shown in their former mailboxes.
 */
import { type MailboxRow, MailboxRows } from '../../database/mail/mailbox-rows.ts';
import { type FlagChange, type MailOperation, OperationRows } from '../../database/mail/operation-rows.ts';
import {
  countLostPlacements,
  readLostPlacements,
  type ServerPlacement,
  ServerPlacementRows,
} from '../../database/mail/server-placement-rows.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { withServerGrant } from '../../records/with-grants.ts';
import { destroyRecords } from '../../records/write/write-records.ts';
import type { MailAccount } from './incoming-mail.ts';
import { isCopyDeletion } from './local-operations.ts';
import { appendMailEvent } from './mail-events.ts';
import {
  type MailTransaction,
  readNow,
  runServerTransaction,
  type ServerParts,
  toMailTransaction,
} from './mail-transaction.ts';
import { queueMailboxCreation } from './mailbox-operations.ts';
import { findBringing, findOrigin } from './operation-positions.ts';
import { OperationQueue } from './operation-queue.ts';
import { prepareRemoval } from './remove-emails.ts';
import { applyServerFlags, changeEmails } from './server-changes.ts';
import { diffServerFlags } from './server-flags.ts';

interface LostParts extends ServerParts {
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** E-mails of one transaction. */
const batchSize = 100;
const serverGrant: Grant = { identity: 'lost mail', rows: null, may: () => true };

/** The lost messages of one application's accounts. */
export class LostMessages {
  readonly #parts: LostParts;

  constructor(parts: LostParts) {
    this.#parts = parts;
  }

  /** How many placements of an account are lost. */
  count({ id }: MailAccount): Promise<number> {
    return countLostPlacements(this.#parts.database, id);
  }

  /** Marks messages as lost: those with these UIDs are no longer in the mailbox. */
  async markVanished(
    mail: MailTransaction,
    { id: account }: MailAccount,
    mailbox: { readonly id: number; readonly uidvalidity: string },
    uids: readonly number[],
  ): Promise<void> {
    const rows = new ServerPlacementRows(mail.database, mail.transaction);
    const vanished = await rows.readByUids(mailbox.id, mailbox.uidvalidity, uids);
    const operationRows = new OperationRows(mail.database, mail.transaction, account);
    const waiting = await operationRows.readByUids(mailbox.id, mailbox.uidvalidity, uids);
    const emails = [...vanished, ...waiting].flatMap(({ emailId }) => emailId ?? []);
    const vanishedUids = new Set(uids);
    await this.#lose(
      mail,
      account,
      [...new Set(emails)],
      ({ mailboxId, uidvalidity, uid }) =>
        mailboxId === mailbox.id && uidvalidity === mailbox.uidvalidity && uid !== null && vanishedUids.has(uid),
    );
  }

  /** Marks all messages of a mailbox as lost: they get other UIDs, or the server no longer has the mailbox. */
  async markMailbox(mail: MailTransaction, { id: account }: MailAccount, mailbox: number): Promise<void> {
    const rows = new ServerPlacementRows(mail.database, mail.transaction);
    await rows.markMailboxLost(account, mailbox, readNow(mail));
    const queue = await OperationQueue.ofMailbox(mail, account, mailbox);
    for (const each of queue.all)
      if (each.mailboxId === mailbox && each.uid !== null && each.status === 'queued')
        queue.replace(each, { uid: null, uidvalidity: null });
    await queue.flush();
  }

  /**
   * Marks a mailbox that the server no longer lists. It is deleted when its messages are, unless mail was moved there
   * from here.
   */
  async markVanishedMailbox(mail: MailTransaction, account: MailAccount, row: MailboxRow): Promise<void> {
    await this.markMailbox(mail, account, row.id);
    await new MailboxRows(mail.database, mail.transaction).markLost(row.id, readNow(mail));
    const queue = await OperationQueue.ofMailbox(mail, account.id, row.id);
    for (const each of queue.all) if (each.kind.endsWith('Mailbox') && each.status === 'queued') queue.remove(each);
    await queue.flush();
    const isWanted = queue.all.some((each) => each.targetId === row.id || each.kind === 'append');
    if (isWanted) await queueMailboxCreation(mail, account.id, row.id);
  }

  async #lose(
    mail: MailTransaction,
    account: number,
    emails: readonly number[],
    isVanished: (position: Pick<MailOperation, 'mailboxId' | 'uidvalidity' | 'uid'>) => boolean,
  ): Promise<void> {
    await changeEmails(mail, emails, async () => {
      const rows = new ServerPlacementRows(mail.database, mail.transaction);
      const queue = await OperationQueue.ofEmails(mail, account, emails);
      const placements = Map.groupBy(await rows.readByEmails(emails), ({ emailId }) => emailId);
      const changes = new Map<number, ReadonlyMap<string, boolean>>();
      const placed = new Set<number>();
      for (const email of emails) {
        const loss = findLoss(placements.get(email) ?? [], queue.ofEmail(email), isVanished);
        const rescued = loss.remaining.length === 0 ? rescueByCopy(queue, loss.vanished[0], isVanished) : null;
        if (rescued) await rows.setPosition(rescued.id, rescued);
        const remaining = rescued ? [rescued] : loss.remaining;
        const vanished = loss.vanished.filter(({ id }) => id !== rescued?.id);
        dropVanished(queue, email, { vanished, remaining }, isVanished);
        if (loss.vanished.length === 0) continue;
        const ids = vanished.map(({ id }) => id);
        if (remaining.length > 0) await rows.remove(ids);
        else await rows.markLost(account, ids, readNow(mail));
        placed.add(email);
        const copy = remaining.find(({ uid, flags }) => uid !== null && flags !== null);
        // The flags may have been changed between the last report about this message and the one about its copy.
        const before = loss.vanished.find(({ flags }) => flags !== null)?.flags;
        if (copy) changes.set(email, diffServerFlags(before ?? copy.flags ?? [], copy.flags ?? []));
      }
      await queue.flush();
      return { placed, fields: await applyServerFlags(mail, queue, changes) };
    });
  }

  /**
   * Deletes lost e-mails.
   *
   * @param before ISO 8601: when they were lost at the latest.
   * @param mailbox only those that were lost there; null: in any mailbox.
   * @returns the keys of the deleted e-mails.
   */
  async remove(account: MailAccount, before: string, mailbox: number | null): Promise<number[]> {
    const deleted: number[] = [];
    for (;;) {
      const batch = await this.#parts.asServer((context) =>
        inTransaction(
          withServerGrant({ ...context, hooks: null }, serverGrant),
          (tx) => removeBatch(tx, account.id, before, mailbox),
          { lockKey: `mail ${account.id}`, heavy: true },
        ),
      );
      deleted.push(...batch.deleted);
      if (batch.isLast) break;
    }
    if (mailbox === null) {
      await this.#removeUnplaced(account, before);
      await runServerTransaction(this.#parts, account, (mail) => removeLostMailboxes(mail, account.id, before));
    }
    return deleted;
  }

  /**
   * Removes operations whose message the server does not show anywhere. The placements that their moves were to fill
   * are marked as lost.
   */
  async #removeUnplaced(account: MailAccount, before: string): Promise<void> {
    await runServerTransaction(this.#parts, account, async (mail) => {
      const { database, transaction } = mail;
      const targets = await new OperationRows(database, transaction, account.id).removeUnplaced(before);
      if (targets.length === 0) return;
      const rows = new ServerPlacementRows(database, transaction);
      const placements = await rows.readByEmails(targets.map(({ emailId }) => emailId));
      const isTarget = ({ emailId, mailboxId, uid }: ServerPlacement): boolean =>
        uid === null && targets.some((each) => each.emailId === emailId && each.mailboxId === mailboxId);
      await rows.markLost(
        account.id,
        placements.filter(isTarget).map(({ id }) => id),
        readNow(mail),
      );
    });
  }
}

async function removeLostMailboxes(mail: MailTransaction, account: number, before: string): Promise<void> {
  const { database, transaction } = mail;
  const keys = await new MailboxRows(database, transaction).removeLost(account, before);
  await appendMailEvent(transaction, mail, { name: 'mailboxes.destroyed', keys });
}

type IsVanished = (position: Pick<MailOperation, 'mailboxId' | 'uidvalidity' | 'uid'>) => boolean;

/** What is left of an e-mail when some of its messages are not where they were. */
interface Loss {
  /** Placements whose message is gone. */
  readonly vanished: readonly ServerPlacement[];
  /** Placements whose message the server has, or gets. */
  readonly remaining: readonly ServerPlacement[];
}

const withoutUid = { uidvalidity: null, uid: null } as const;

function findLoss(
  placements: readonly ServerPlacement[],
  operations: readonly MailOperation[],
  isVanished: IsVanished,
): Loss {
  const present = placements.filter(({ isLost }) => !isLost);
  const vanished = present.filter((each) => {
    const origin = findOrigin(each, operations);
    // A running operation ends by itself, and says what became of the message.
    return origin !== null && origin.operation?.status !== 'running' && isVanished(origin);
  });
  const isAppended = (each: ServerPlacement): boolean => findBringing(each, operations)?.kind === 'append';
  const isKnown = (each: ServerPlacement): boolean => findOrigin(each, operations) !== null || isAppended(each);
  return { vanished, remaining: present.filter((each) => !vanished.includes(each) && isKnown(each)) };
}

/**
 * If the message of a placement is gone, and another copy of it was to be deleted, then that copy is the last one: it is moved to the
 * placement instead.
 */
function rescueByCopy(
  queue: OperationQueue,
  placement: ServerPlacement | undefined,
  isVanished: IsVanished,
): ServerPlacement | null {
  if (!placement) return null;
  const copy = queue
    .ofEmail(placement.emailId)
    .find((each) => isCopyDeletion(each) && each.status === 'queued' && each.uid !== null && !isVanished(each));
  if (!copy) return null;
  for (const each of queue.ofEmail(placement.emailId))
    if (each.kind === 'move' && each.status === 'queued' && each.targetId === placement.mailboxId) queue.remove(each);
  const payload = { modseq: null, flags: placement.flags };
  queue.replace(copy, { kind: 'move', targetId: placement.mailboxId, payload });
  return { ...placement, ...withoutUid, modseq: null };
}

/**
 * Ends the queued operations of an e-mail whose message is no longer at its position. Changes of flags and permanent
 * deletions are carried out where the message is found. A move by another program overrides a move from here.
 */
function dropVanished(
  queue: OperationQueue,
  email: number,
  { vanished, remaining }: Loss,
  isVanished: IsVanished,
): void {
  const isForLost = ({ kind, targetId }: MailOperation): boolean =>
    kind === 'move' && vanished.some(({ mailboxId }) => mailboxId === targetId);
  // Mailboxes to which no operation brings the message any more.
  const abandoned = new Set<number | null>(vanished.map(({ mailboxId }) => mailboxId));
  for (const each of queue.ofEmail(email)) {
    if (each.status !== 'queued' || each.kind === 'flags' || !(isVanished(each) || isForLost(each))) continue;
    if (each.kind === 'delete' && each.payload?.isFinal) queue.replace(each, { mailboxId: null, ...withoutUid });
    else {
      queue.remove(each);
      if (each.kind === 'move') abandoned.add(each.targetId);
    }
  }
  // Removes operations that were to delete the messages which these moves would have brought.
  for (const each of queue.ofEmail(email))
    if (isCopyDeletion(each) && each.status === 'queued' && each.uid === null && abandoned.has(each.mailboxId))
      if (
        !findBringing(
          { emailId: email, mailboxId: each.mailboxId ?? 0 },
          queue.ofEmail(email).filter(({ id }) => id < each.id),
        )
      )
        queue.remove(each);
  const place = findPlace(remaining, vanished, queue.ofEmail(email));
  const isMisplaced = ({ mailboxId, uid }: MailOperation): boolean =>
    uid === null &&
    abandoned.has(mailboxId) &&
    !remaining.some((each) => each.uid === null && each.mailboxId === mailboxId);
  for (const each of queue.ofEmail(email))
    if (each.kind === 'flags' && each.status === 'queued' && (isVanished(each) || isMisplaced(each)))
      moveFlags(queue, each, place);
}

type Place = Pick<MailOperation, 'mailboxId' | 'uidvalidity' | 'uid'>;

/**
 * The position where operations on the flags of an e-mail continue: a message that the server still has, or the
 * position of the lost message.
 */
function findPlace(
  remaining: readonly ServerPlacement[],
  vanished: readonly ServerPlacement[],
  operations: readonly MailOperation[],
): Place {
  const shown = remaining.find(({ uid }) => uid !== null) ?? remaining[0] ?? vanished[0];
  const origin = shown && remaining.includes(shown) ? findOrigin(shown, operations) : null;
  const { mailboxId, uidvalidity, uid } = origin ?? { mailboxId: shown?.mailboxId ?? null, ...withoutUid };
  return { mailboxId, uidvalidity, uid };
}

/** Moves an operation on flags to another position. If an operation already waits there, the two are merged. */
function moveFlags(queue: OperationQueue, operation: MailOperation, place: Place): void {
  const { id, kind, emailId } = operation;
  const isSame = (each: MailOperation): boolean =>
    each.id !== id && each.kind === kind && each.emailId === emailId && each.status === 'queued' && isAt(each, place);
  const same = queue.all.find(isSame);
  if (!same) {
    queue.replace(operation, place);
    return;
  }
  const [earlier, later] = id < same.id ? [operation, same] : [same, operation];
  // The operation with more attempts is kept, because the outcome of its attempts is still unknown.
  const [kept, other] = operation.attempts > same.attempts ? [operation, same] : [same, operation];
  queue.remove(other);
  queue.replace(kept, { ...place, flags: mergeFlags(earlier.flags, later.flags) });
}

const isAt = (each: Place, { mailboxId, uidvalidity, uid }: Place): boolean =>
  each.mailboxId === mailboxId && each.uidvalidity === uidvalidity && each.uid === uid;

/** @param later counts where both name a flag. */
function mergeFlags(earlier: MailOperation['flags'], later: MailOperation['flags']): FlagChange {
  const [add, remove] = [new Set(later?.add), new Set(later?.remove)];
  return {
    add: [...add.union(new Set(earlier?.add).difference(remove))],
    remove: [...remove.union(new Set(earlier?.remove).difference(add))],
  };
}

async function removeBatch(
  tx: TransactionContext,
  account: number,
  before: string,
  mailbox: number | null,
): Promise<{ readonly deleted: readonly number[]; readonly isLast: boolean }> {
  const { database, tx: transaction } = tx;
  const rows = new ServerPlacementRows(database, transaction);
  const lost = await readLostPlacements(database, transaction, { account, before, mailbox }, batchSize);
  const emails = [...new Set(lost.map(({ emailId }) => emailId))];
  const mail = toMailTransaction(tx, transaction);
  await rescueLost(mail, account, lost, rows);
  const placements = Map.groupBy(await rows.readByEmails(emails), ({ emailId }) => emailId);
  const isHeld = (email: number): boolean => (placements.get(email) ?? []).some(({ isLost }) => !isLost);
  const held = emails.filter(isHeld);
  await changeEmails(mail, held, async () => {
    const isLost = ({ isLost: isStillLost, emailId }: ServerPlacement): boolean => isStillLost && isHeld(emailId);
    const read = held.flatMap((email) => placements.get(email) ?? []);
    const ids = new Set(lost.map(({ id }) => id));
    await rows.remove(read.filter((each) => ids.has(each.id) && isLost(each)).map(({ id }) => id));
    return { placed: held, fields: new Map() };
  });
  const deleted = emails.filter((email) => !isHeld(email));
  if (deleted.length > 0) {
    const guard: NonNullable<RecordRules['guard']> = ({ keys }) => prepareRemoval(tx, transaction, keys);
    const rules: RecordRules = { changesAccess: false, isUnaudited: true, guard };
    await destroyRecords(tx, tx.registry.get('emails'), requestByKeys('destroy', deleted), { rules });
  }
  return { deleted, isLast: lost.length < batchSize };
}

/** A message is not lost if another copy of it was to be deleted: that copy takes its place. */
async function rescueLost(
  mail: MailTransaction,
  account: number,
  lost: readonly ServerPlacement[],
  rows: ServerPlacementRows,
): Promise<void> {
  const queue = await OperationQueue.ofEmails(mail, account, [...new Set(lost.map(({ emailId }) => emailId))]);
  for (const each of lost) {
    const rescued = rescueByCopy(queue, each, () => false);
    if (rescued) await rows.setPosition(rescued.id, rescued);
  }
  await queue.flush();
}
