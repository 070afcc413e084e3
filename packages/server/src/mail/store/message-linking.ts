/** Links messages of the mail server to e-mails that the account already has: copies, moves, and mailboxes that are read again. */
import type { AccountServer } from '../../database/mail/account-server-rows.ts';
import { FlagRows, type StoredFlags } from '../../database/mail/flag-rows.ts';
import type { MailOperation } from '../../database/mail/operation-rows.ts';
import {
  type ServerPlacement,
  ServerPlacementRows,
  type ServerPosition,
} from '../../database/mail/server-placement-rows.ts';
import { LocalOperations, toCopyDeletion } from './local-operations.ts';
import type { MailTransaction } from './mail-transaction.ts';
import { findBringing, findOrigin } from './operation-positions.ts';
import { OperationQueue } from './operation-queue.ts';
import { applyServerFlags, changeEmails } from './server-changes.ts';
import { diffEmailFlags, diffServerFlags, findUnsentFlags, type LabelMode, readEmailFlags } from './server-flags.ts';

/** A message of a mailbox on the server, and the e-mail that it is. */
export interface KnownMessage extends ServerPosition {
  readonly emailId: number;
  readonly uidvalidity: string;
  readonly uid: number;
  readonly flags: readonly string[];
}

/** Operations on a message that is on the server. */
const messageKinds: ReadonlySet<string> = new Set(['flags', 'move', 'delete']);

/** Links messages of one mailbox. */
export async function linkMessages(
  mail: MailTransaction,
  server: AccountServer,
  mailbox: number,
  messages: readonly KnownMessage[],
): Promise<void> {
  const emails = [...new Set(messages.map(({ emailId }) => emailId))];
  await changeEmails(mail, emails, async () => {
    const linking = await MessageLinking.begin(mail, server, mailbox, emails);
    for (const each of messages) await linking.link(each);
    return linking.finish();
  });
}

class MessageLinking {
  readonly #mail: MailTransaction;
  readonly #server: AccountServer;
  readonly #mailbox: number;
  readonly #queue: OperationQueue;
  readonly #rows: ServerPlacementRows;
  readonly #placements: Map<number, ServerPlacement[]>;
  readonly #flags: ReadonlyMap<number, StoredFlags>;
  readonly #placed = new Set<number>();
  readonly #serverChanges = new Map<number, ReadonlyMap<string, boolean>>();
  readonly #localChanges = new Map<number, ReadonlyMap<string, boolean>>();

  private constructor(
    { mail, server, mailbox }: { mail: MailTransaction; server: AccountServer; mailbox: number },
    queue: OperationQueue,
    placements: readonly ServerPlacement[],
    flags: ReadonlyMap<number, StoredFlags>,
  ) {
    this.#mail = mail;
    this.#server = server;
    this.#mailbox = mailbox;
    this.#queue = queue;
    this.#rows = new ServerPlacementRows(mail.database, mail.transaction);
    this.#placements = Map.groupBy(placements, ({ emailId }) => emailId);
    this.#flags = flags;
  }

  static async begin(
    mail: MailTransaction,
    server: AccountServer,
    mailbox: number,
    emails: readonly number[],
  ): Promise<MessageLinking> {
    const queue = await OperationQueue.ofEmails(mail, server.accountId, emails);
    const placements = await new ServerPlacementRows(mail.database, mail.transaction).readByEmails(emails);
    const flags = await new FlagRows(mail.database, mail.transaction).read(emails);
    return new MessageLinking({ mail, server, mailbox }, queue, placements, flags);
  }

  get #mode(): LabelMode {
    return this.#server.hasGmailLabels ? 'gmail' : 'keywords';
  }

  async link(message: KnownMessage): Promise<void> {
    const { emailId, uid, uidvalidity } = message;
    const placements = this.#placements.get(emailId) ?? [];
    const isSame = (each: ServerPlacement | MailOperation): boolean =>
      each.mailboxId === this.#mailbox && each.uid === uid && each.uidvalidity === uidvalidity;
    const exact = placements.find(isSame);
    const operations = this.#queue.ofEmail(emailId);
    if (exact) {
      await this.#rows.setFlags([exact.id], message.flags, message.modseq);
      this.#addServerChanges(message, exact.flags);
    } else if (
      !operations.some((each) => isSame(each) && each.kind !== 'flags') &&
      !(await this.#giveUid(message, placements, operations))
    )
      await this.#place(message, placements, operations);
  }

  /** Gives the UID to an operation that moved or deleted the message here before its UID was known. */
  async #giveUid(
    message: KnownMessage,
    placements: readonly ServerPlacement[],
    operations: readonly MailOperation[],
  ): Promise<boolean> {
    const { uid, uidvalidity, modseq, flags } = message;
    const isWaiting = ({ kind, status, uid: known, mailboxId }: MailOperation): boolean =>
      messageKinds.has(kind) && status === 'queued' && known === null && [this.#mailbox, null].includes(mailboxId);
    const waiting = operations.filter(isWaiting);
    if (!waiting.some(({ kind }) => kind !== 'flags')) return false;
    for (const each of waiting) this.#queue.replace(each, { mailboxId: this.#mailbox, uid, uidvalidity });
    const move = waiting.find(({ kind }) => kind === 'move');
    const shown = placements.find((each) => each.mailboxId === move?.targetId && each.uid === null);
    if (!shown) return true;
    if (shown.isLost) await this.#rows.unmarkLost([shown.id]);
    await this.#rows.setFlags([shown.id], flags, modseq);
    this.#addServerChanges(message, shown.flags);
    return true;
  }

  async #place(
    message: KnownMessage,
    placements: readonly ServerPlacement[],
    operations: readonly MailOperation[],
  ): Promise<void> {
    const { emailId, uid, uidvalidity, modseq, flags } = message;
    const waiting = placements.find((each) => each.mailboxId === this.#mailbox && each.uid === null);
    const lost = placements.filter((each) => each.isLost && each !== waiting);
    const bringing = waiting && findBringing(waiting, operations);
    const position = { uidvalidity, uid, modseq, flags };
    if (waiting) {
      // A running operation ends soon, with the same UID.
      if (bringing?.status === 'queued')
        if (bringing.kind === 'move' && !waiting.isLost) toCopyDeletion(this.#queue, bringing);
        else this.#queue.remove(bringing);
      await this.#rows.setPosition(waiting.id, position);
    } else await this.#rows.add([{ emailId, mailboxId: this.#mailbox, ...position }]);
    const rest = placements.filter((each) => each !== waiting && !lost.includes(each));
    const awaited = rest.flatMap((each) => findOrigin(each, operations) ?? []).filter((each) => each.uid === null);
    const isFor = (mailbox: number | null): boolean =>
      mailbox === this.#mailbox || !awaited.some(({ mailboxId }) => mailboxId === mailbox);
    for (const each of operations) {
      if (each.uid !== null || each.status !== 'queued') continue;
      if (each.kind === 'flags' && isFor(each.mailboxId))
        this.#queue.replace(each, { mailboxId: this.#mailbox, uid, uidvalidity });
      // The message is no longer where it was to be moved from; its present position counts.
      if (each.kind === 'move' && lost.some(({ mailboxId }) => mailboxId === each.targetId)) this.#queue.remove(each);
    }
    await this.#rows.remove(lost.map(({ id }) => id));
    const placed = { id: 0, emailId, mailboxId: this.#mailbox, isLost: false, ...position };
    this.#placements.set(emailId, [...rest, placed]);
    this.#placed.add(emailId);
    const confirmed = waiting?.flags ?? lost.find((each) => each.flags !== null)?.flags ?? null;
    if (confirmed) this.#addServerChanges(message, confirmed);
    else this.#addFirstFlags(message, bringing?.kind === 'append', rest);
  }

  /** Flags of a message about which the server had said nothing. */
  #addFirstFlags({ emailId, flags }: KnownMessage, isAppended: boolean, others: readonly ServerPlacement[]): void {
    const local = this.#flags.get(emailId);
    if (!local) return;
    // What was stored there from here: the local flags may have changed since.
    if (isAppended) this.#localChanges.set(emailId, findUnsentFlags(local, flags, this.#mode));
    // An e-mail that was imported: the server's flags count. A further copy of an e-mail changes nothing.
    else if (!others.some((each) => each.uid !== null))
      this.#serverChanges.set(emailId, diffEmailFlags(local, readEmailFlags(flags), this.#mode));
  }

  #addServerChanges({ emailId, flags }: KnownMessage, confirmed: readonly string[] | null): void {
    const changes = diffServerFlags(confirmed ?? [], flags);
    this.#serverChanges.set(emailId, new Map([...(this.#serverChanges.get(emailId) ?? []), ...changes]));
  }

  async finish(): Promise<{ placed: ReadonlySet<number>; fields: Map<number, string[]> }> {
    await this.#queue.flush();
    const fields = await applyServerFlags(this.#mail, this.#queue, this.#serverChanges);
    await new LocalOperations(this.#mail, this.#server).queueFlags(this.#localChanges);
    return { placed: this.#placed, fields };
  }
}
