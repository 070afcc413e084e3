/**
 * Operations: local changes that the mail server must get. The synchronisation takes those that are due, marks them as running,
 * sends them, and reports the result. Each method is one transaction.
 */
import type { BlobStore } from '../../base/blob-store.ts';
import { isoTime } from '../../base/clock.ts';
import { readAccountServers } from '../../database/mail/account-server-rows.ts';
import { readEmailKeyTime } from '../../database/mail/email-keys.ts';
import { readRawBlob } from '../../database/mail/email-rows.ts';
import { FlagRows, readFlags } from '../../database/mail/flag-rows.ts';
import { MailboxRows, readMailboxRow } from '../../database/mail/mailbox-rows.ts';
import {
  countWaitingOperations,
  type DueOperation,
  type MailOperation,
  OperationRows,
  type QueuedAgain,
  readDueOperations,
  readOperationUids,
} from '../../database/mail/operation-rows.ts';
import {
  readServerCopies,
  type ServerCopy,
  type ServerPlacement,
  ServerPlacementRows,
} from '../../database/mail/server-placement-rows.ts';
import { sweepTombstones, TombstoneRows } from '../../database/mail/tombstone-rows.ts';
import { dropOutdatedFlags } from './flag-operations.ts';
import type { MailAccount } from './incoming-mail.ts';
import { isCopyDeletion, LocalOperations } from './local-operations.ts';
import { type MailTransaction, readNow, runServerTransaction, type ServerParts } from './mail-transaction.ts';
import { findBringing, findOrigin } from './operation-positions.ts';
import { OperationQueue } from './operation-queue.ts';
import { applyServerFlags, changeEmails } from './server-changes.ts';
import { diffServerFlags, findUnsentFlags, normaliseFlags, splitLabels, toServerFlags } from './server-flags.ts';

/** What the server said when it had done an operation. */
export interface OperationResult {
  /** Where the message is now: APPENDUID or COPYUID. Absent: not known; the message is linked when the mailbox is read. */
  readonly uidvalidity?: string;
  readonly uid?: number;
  readonly modseq?: string | null;
  /** `flags`: what the message has now, where it was fetched; `append`: what was sent with it. */
  readonly flags?: readonly string[];
  /** Labels of Gmail, with {@link flags}. */
  readonly labels?: readonly string[] | null;
  /** `createMailbox`, `renameMailbox`: the server's name of the mailbox now. */
  readonly rawPath?: string;
  readonly delimiter?: string | null;
}

const noChange = { placed: [], fields: new Map<number, string[]>() };

/** How long the tombstone of a permanently deleted e-mail is kept. */
const tombstoneMilliseconds = 30 * 86_400_000;

/** A message to be stored on the server. */
export interface OutgoingMessage {
  readonly raw: Uint8Array;
  readonly flags: readonly string[];
  /** Labels of Gmail. */
  readonly labels: readonly string[];
  /** For INTERNALDATE, ISO 8601. */
  readonly receivedAt: string;
}

/** What {@link MailOperations} works with. */
export interface MailOperationsParts extends ServerParts {
  readonly blobs: BlobStore;
}

/** The waiting operations of one application's accounts. */
export class MailOperations {
  readonly #parts: MailOperationsParts;

  constructor(parts: MailOperationsParts) {
    this.#parts = parts;
  }

  /** Operations of an account that can be sent now, the oldest first. Flags may contain labels, see `splitLabels`. */
  readDue(account: MailAccount, max: number): Promise<DueOperation[]> {
    const { database, clock } = this.#parts;
    return readDueOperations(database, account.id, isoTime(clock.now()), max);
  }

  /** UIDs of a mailbox that operations name, to find those whose message is not there any more. */
  readSources(mailbox: { readonly id: number; readonly uidvalidity: string | null }): Promise<number[]> {
    return readOperationUids(this.#parts.database, mailbox.id, mailbox.uidvalidity);
  }

  /** Where the server has the messages of e-mails, as far as it is known: before one of several copies is deleted. */
  readCopies(emails: readonly number[]): Promise<ServerCopy[]> {
    return readServerCopies(this.#parts.database, emails);
  }

  /**
   * A message to be stored on the server: its bytes, and the flags that it has now.
   *
   * @returns null where the e-mail was deleted.
   */
  async readMessage({ id }: MailAccount, email: number): Promise<OutgoingMessage | null> {
    const { database, blobs } = this.#parts;
    const blob = await readRawBlob(database, email);
    const raw = blob && (await blobs.get(blob.account, blob.sha256));
    const flags = (await readFlags(database, [email])).get(email);
    const server = (await readAccountServers(database, null, [id])).get(id);
    if (!raw || !flags || !server) return null;
    const names = toServerFlags(flags, server.hasGmailLabels ? 'gmail' : 'keywords');
    return { raw, ...splitLabels(names), receivedAt: new Date(readEmailKeyTime(email)).toISOString() };
  }

  /** How many changes the server does not have yet. */
  countWaiting(account: MailAccount): Promise<number> {
    return countWaitingOperations(this.#parts.database, account.id);
  }

  /**
   * Marks operations as running, so that later changes do not alter them.
   *
   * @returns the keys of those that are still queued as they were read. The others are read again.
   */
  begin(account: MailAccount, operations: readonly MailOperation[]): Promise<number[]> {
    return this.#run(account, async (mail) => {
      const rows = new OperationRows(mail.database, mail.transaction, account.id);
      const stored = new Map((await rows.readByKeys(operations.map(({ id }) => id))).map((each) => [each.id, each]));
      const unchanged = operations.filter((each) => isUnchanged(each, stored.get(each.id)));
      return rows.begin(unchanged.map(({ id }) => id));
    });
  }

  /**
   * Queues again what was running when a server stopped. Its end is unknown: before it is repeated, the server's state is
   * compared ({@link MailOperation.attempts} is more than 0).
   */
  async requeueRunning(account: MailAccount): Promise<void> {
    await this.#run(account, async (mail) => {
      const again = await new OperationRows(mail.database, mail.transaction, account.id).requeueRunning();
      await dropOutdated(mail, account, again);
    });
  }

  /** Queues a failed operation again. @param notBefore ISO 8601. */
  async retry(account: MailAccount, id: number, error: string | null, notBefore: string | null): Promise<void> {
    await this.#run(account, async (mail) => {
      const again = await new OperationRows(mail.database, mail.transaction, account.id).retry(id, error, notBefore);
      await dropOutdated(mail, account, again);
    });
  }

  /** Records that the server has done an operation. */
  async complete(account: MailAccount, id: number, result: OperationResult = {}): Promise<void> {
    await this.#run(account, async (mail) => {
      const operation = await new OperationRows(mail.database, mail.transaction, account.id).read(id);
      if (!operation) return;
      await completeOperation(mail, operation, result);
      const { emailId } = operation;
      if (emailId !== null && operation.kind !== 'flags') await changeEmails(mail, [emailId], async () => noChange);
    });
  }

  /**
   * Gives up an operation that the server does not carry out: the server's state counts again. A message that was moved
   * here is shown where it is on the server; a message that was deleted here is shown again when the mailbox is read.
   */
  async drop(account: MailAccount, id: number): Promise<void> {
    await this.#run(account, async (mail) => {
      const operation = await new OperationRows(mail.database, mail.transaction, account.id).read(id);
      if (operation) await dropOperation(mail, operation);
    });
  }

  /** Removes tombstones after 30 days. @param now milliseconds since the Unix epoch. */
  async sweepTombstones(now: number): Promise<void> {
    const { database } = this.#parts;
    const before = isoTime(now - tombstoneMilliseconds);
    await database.write((transaction) => sweepTombstones(database, transaction, before));
  }

  #run<T>(account: MailAccount, work: (mail: MailTransaction) => Promise<T>): Promise<T> {
    return runServerTransaction(this.#parts, account, work);
  }
}

/** After operations are queued again: flags that were changed back meanwhile are not sent. */
async function dropOutdated(mail: MailTransaction, { id }: MailAccount, again: readonly QueuedAgain[]): Promise<void> {
  const emails = again.flatMap(({ kind, emailId }) => (kind === 'flags' && emailId !== null ? [emailId] : []));
  if (emails.length === 0) return;
  const queue = await OperationQueue.ofEmails(mail, id, emails);
  dropOutdatedFlags(queue, new Set(again.map((each) => each.id)));
  await queue.flush();
}

/** Whether an operation still does the same at the same place. */
function isUnchanged(read: MailOperation, stored: MailOperation | undefined): boolean {
  const form = ({ kind, mailboxId, uidvalidity, uid, targetId, flags }: MailOperation): string =>
    JSON.stringify([kind, mailboxId, uidvalidity, uid, targetId, flags]);
  return stored !== undefined && form(read) === form(stored);
}

/** What an operation of its kind always names. */
function requireKey(operation: MailOperation, name: 'emailId' | 'mailboxId' | 'targetId'): number {
  const key = operation[name];
  if (key === null) throw new Error(`the operation ${operation.id} (${operation.kind}) has no ${name}`);
  return key;
}

async function completeOperation(
  mail: MailTransaction,
  operation: MailOperation,
  result: OperationResult,
): Promise<void> {
  const rows = new OperationRows(mail.database, mail.transaction, operation.accountId);
  switch (operation.kind) {
    case 'flags':
      return confirmFlags(mail, operation, result);
    case 'move':
    case 'append':
      return confirmArrival(mail, operation, result);
    case 'createMailbox':
    case 'renameMailbox':
      await rows.remove([operation.id]);
      return renameOnServer(mail, operation, result);
    default:
      return rows.remove([operation.id]);
  }
}

/** The placement as which a message on the server is shown, which may be in another mailbox already. */
function findShown(
  placements: readonly ServerPlacement[],
  { mailboxId, uidvalidity, uid }: MailOperation,
  operations: readonly MailOperation[],
): ServerPlacement | undefined {
  const isSame = (each: Pick<MailOperation, 'mailboxId' | 'uidvalidity' | 'uid'> | null): boolean =>
    each?.mailboxId === mailboxId && each.uid === uid && each.uidvalidity === uidvalidity;
  return placements.find(isSame) ?? placements.find((each) => isSame(findOrigin(each, operations)));
}

/**
 * Removes an operation on flags, and gives its e-mail flags of the server.
 *
 * @param findChanges the flags that change, by the placement as which the message is shown; undefined: it is not shown any more.
 */
async function endFlagsOperation(
  mail: MailTransaction,
  operation: MailOperation,
  findChanges: (
    shown: ServerPlacement | undefined,
    rows: ServerPlacementRows,
  ) => ReadonlyMap<string, boolean> | Promise<ReadonlyMap<string, boolean>>,
): Promise<void> {
  const email = requireKey(operation, 'emailId');
  await changeEmails(mail, [email], async () => {
    const queue = await OperationQueue.ofEmails(mail, operation.accountId, [email]);
    const rows = new ServerPlacementRows(mail.database, mail.transaction);
    const shown = findShown(await rows.readByEmails([email]), operation, queue.ofEmail(email));
    queue.remove(operation);
    await queue.flush();
    const changes = await findChanges(shown, rows);
    return { placed: [], fields: await applyServerFlags(mail, queue, new Map([[email, changes]])) };
  });
}

/** Stores the flags that the server confirmed. Where they differ from what was expected, those of the server count. */
async function confirmFlags(mail: MailTransaction, operation: MailOperation, result: OperationResult): Promise<void> {
  await endFlagsOperation(mail, operation, async (shown, rows) => {
    if (!shown) return new Map();
    const wanted = new Set(shown.flags ?? []).difference(new Set(operation.flags?.remove));
    const expected = normaliseFlags(wanted.union(new Set(operation.flags?.add)));
    const actual = result.flags ? normaliseFlags(result.flags, result.labels) : expected;
    await rows.setFlags([shown.id], actual, result.modseq ?? null);
    return diffServerFlags(expected, actual);
  });
}

/** A message was moved or stored: its placement gets the UID, unless the message has been moved on meanwhile. */
async function confirmArrival(mail: MailTransaction, operation: MailOperation, result: OperationResult): Promise<void> {
  const { accountId, kind } = operation;
  const email = requireKey(operation, 'emailId');
  const mailboxId = requireKey(operation, kind === 'move' ? 'targetId' : 'mailboxId');
  const queue = await OperationQueue.ofEmails(mail, accountId, [email]);
  const rows = new ServerPlacementRows(mail.database, mail.transaction);
  const placements = await rows.readByEmails([email]);
  const waiting = placements.find((each) => each.mailboxId === mailboxId && each.uid === null);
  const isCurrent = waiting && findBringing(waiting, queue.ofEmail(email))?.id === operation.id;
  queue.remove(operation);
  // The message may have been found in the mailbox before the server's reply was handled, even if it has been moved on
  // here since.
  const found = waiting
    ? undefined
    : (placements.find((each) => each.mailboxId === mailboxId) ??
      queue.ofEmail(email).find((each) => each.kind === 'move' && each.mailboxId === mailboxId && each.uid !== null));
  const { uidvalidity = null, uid = null } = result.uid === undefined ? (found ?? {}) : result;
  const position = { uidvalidity, uid };
  const isFollowing = (each: MailOperation): boolean =>
    (kind === 'move' && isAt(each, operation)) ||
    (each.mailboxId === mailboxId && each.uid === null && each.kind !== 'append');
  const following = queue.ofEmail(email).filter(isFollowing);
  // This operation was to delete the message that an earlier operation brings. The message is shown now, so it is not a
  // surplus copy.
  for (const each of following)
    if (isCurrent && isCopyDeletion(each)) queue.remove(each);
    else queue.replace(each, { mailboxId, ...position });
  await queue.flush();
  const sent = result.flags ? normaliseFlags(result.flags, result.labels) : [];
  const flags = kind === 'move' ? (waiting?.flags ?? null) : sent;
  if (isCurrent) await rows.setPosition(waiting.id, { ...position, modseq: result.modseq ?? null, flags });
  // The next look at the mailbox finds the message, unless somebody moves it before.
  if (kind === 'move' && position.uid === null) {
    const shown = isCurrent ? [waiting] : findTargets(placements, following);
    await rows.markLost(
      accountId,
      shown.map(({ id }) => id),
      readNow(mail),
    );
  }
  if (isCurrent && kind === 'append') await queueLaterFlags(mail, accountId, email, sent);
}

/** The placements to which moves bring their messages. */
const findTargets = (placements: readonly ServerPlacement[], moves: readonly MailOperation[]): ServerPlacement[] =>
  placements.filter(
    (placement) =>
      placement.uid === null && moves.some(({ kind, targetId }) => kind === 'move' && targetId === placement.mailboxId),
  );

const isAt = (each: MailOperation, { mailboxId, uidvalidity, uid }: MailOperation): boolean =>
  each.mailboxId === mailboxId && each.uidvalidity === uidvalidity && each.uid === uid;

/** Queues the flags that changed here while a message was being stored on the server. */
async function queueLaterFlags(
  mail: MailTransaction,
  account: number,
  email: number,
  sent: readonly string[],
): Promise<void> {
  const server = (await readAccountServers(mail.database, mail.transaction, [account])).get(account);
  const local = (await new FlagRows(mail.database, mail.transaction).read([email])).get(email);
  if (!server || !local) return;
  const later = findUnsentFlags(local, sent, server.hasGmailLabels ? 'gmail' : 'keywords');
  await new LocalOperations(mail, server).queueFlags(new Map([[email, later]]));
}

async function renameOnServer(
  { database, transaction }: MailTransaction,
  operation: MailOperation,
  { rawPath, delimiter }: OperationResult,
): Promise<void> {
  const row = await readMailboxRow(database, transaction, requireKey(operation, 'mailboxId'));
  if (!row || rawPath === undefined) return;
  const rows = new MailboxRows(database, transaction);
  const separator = delimiter ?? row.delimiter;
  await rows.setNames(row.id, { ...row, rawPath, delimiter: separator });
  // The server renames what the mailbox contains with it.
  if (row.rawPath !== null && separator !== null)
    await rows.renameContained(operation.accountId, row.rawPath + separator, rawPath + separator);
}

async function dropOperation(mail: MailTransaction, operation: MailOperation): Promise<void> {
  const { accountId, kind, emailId } = operation;
  const rows = new OperationRows(mail.database, mail.transaction, accountId);
  if (kind === 'flags') return dropFlags(mail, operation);
  if (kind === 'move' && emailId !== null) return dropMove(mail, operation);
  await rows.remove([operation.id]);
  if (kind === 'delete' && emailId !== null)
    await new TombstoneRows(mail.database, mail.transaction, accountId).removeByEmail(emailId);
}

/** The server's flags count again. */
async function dropFlags(mail: MailTransaction, operation: MailOperation): Promise<void> {
  const { add, remove } = operation.flags ?? { add: [], remove: [] };
  await endFlagsOperation(
    mail,
    operation,
    (shown) => new Map([...add, ...remove].map((name) => [name, shown?.flags?.includes(name) ?? false])),
  );
}

/** The message is shown where it is on the server. */
async function dropMove(mail: MailTransaction, operation: MailOperation): Promise<void> {
  const email = requireKey(operation, 'emailId');
  await changeEmails(mail, [email], async () => {
    const queue = await OperationQueue.ofEmails(mail, operation.accountId, [email]);
    const rows = new ServerPlacementRows(mail.database, mail.transaction);
    const placements = await rows.readByEmails([email]);
    const waiting = placements.find((each) => each.mailboxId === operation.targetId && each.uid === null);
    queue.remove(operation);
    const { mailboxId, uidvalidity, uid, payload } = operation;
    for (const each of queue.ofEmail(email))
      if (each.mailboxId === operation.targetId && each.uid === null && each.kind !== 'append')
        queue.replace(each, { mailboxId, uidvalidity, uid });
    await queue.flush();
    const source = mailboxId === null ? null : await readMailboxRow(mail.database, mail.transaction, mailboxId);
    if (!waiting || !source) return { placed: [], fields: new Map() };
    const position = { uidvalidity, uid, modseq: payload?.modseq ?? null, flags: waiting.flags };
    await rows.remove([waiting.id]);
    await rows.add([{ emailId: email, mailboxId: source.id, ...position }]);
    return { placed: [email], fields: new Map() };
  });
}
