/**
 * Stores what the mail server of an account reports, as the synchronisation reads it. Each method is one transaction,
 * which includes the cursor.
 */
import { isoTime } from '../../base/clock.ts';
import { processCounters } from '../../base/metrics.ts';
import { type AccountServer, readAccountServers } from '../../database/mail/account-server-rows.ts';
import { findKnownMessages, setProviderIds } from '../../database/mail/known-message-rows.ts';
import { type MailboxRow, MailboxRows, readMailboxRows } from '../../database/mail/mailbox-rows.ts';
import { type MailOperation, OperationRows } from '../../database/mail/operation-rows.ts';
import { type RemoteMessage, readRemoteMessage } from '../../database/mail/partial-rows.ts';
import { findUnknownUids } from '../../database/mail/server-placement-rows.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { linkDeleted, removeDeletedCopies } from './deleted-copies.ts';
import type { IncomingMail, IngestResult, MailAccount } from './incoming-mail.ts';
import type { MailIngest } from './ingest.ts';
import type { IdentifiedMail, IngestSource } from './ingest-source.ts';
import { LostMessages } from './lost-messages.ts';
import { type MailTransaction, runServerTransaction, type ServerParts } from './mail-transaction.ts';
import { type KnownMessage, linkMessages } from './message-linking.ts';
import { MissingBodies } from './missing-bodies.ts';
import type { PartialFacts } from './partial-mail.ts';
import { type FlagReport, storeFlagReports } from './server-flag-reports.ts';
import { normaliseFlags, readEmailFlags } from './server-flags.ts';
import { applyMailboxList, type ServerMailbox } from './server-mailboxes.ts';
import { requireValidity, StoredUids } from './stored-uids.ts';

/** A mailbox of a mail server, with what was read of it. */
export type SyncMailbox = Pick<
  MailboxRow,
  | 'id'
  | 'path'
  | 'rawPath'
  | 'role'
  | 'selectable'
  | 'delimiter'
  | 'uidvalidity'
  | 'uidnext'
  | 'highestmodseq'
  | 'backfillUid'
  | 'reconciledAt'
>;

/** What has been read of a mailbox; absent parts stay as they are. */
export interface MailboxCursor {
  readonly uidvalidity?: string;
  readonly uidnext?: number | null;
  readonly highestmodseq?: string | null;
  readonly backfillUid?: number | null;
  /** ISO 8601. */
  readonly reconciledAt?: string | null;
}

/** How messages of a mailbox are stored. */
export interface MailboxReading {
  /** Up to where the mailbox is read when they are stored. */
  readonly cursor: MailboxCursor;
  /** Whether no events about the messages are appended. */
  readonly quiet?: boolean;
}

/** What the server says about a message without its bytes. */
export interface ServerEnvelope {
  readonly uid: number;
  readonly modseq: string | null;
  readonly flags: readonly string[];
  /** Labels of Gmail; null on other servers. */
  readonly labels: readonly string[] | null;
  /** EMAILID or X-GM-MSGID. */
  readonly providerId: string | null;
  /** THREADID or X-GM-THRID. */
  readonly providerThreadId?: string | null;
  /** When the server received it, ISO 8601. */
  readonly internalDate: string | null;
  /** Message-ID with or without angle brackets, and RFC822.SIZE: they find messages that were moved on servers without ids. */
  readonly messageId?: string | null;
  readonly size?: number | null;
}

/** A message of the server with its bytes. */
export interface ServerMessage extends ServerEnvelope {
  /** THREADID or X-GM-THRID. */
  readonly providerThreadId: string | null;
  /** On a `SharedArrayBuffer`, parsing copies nothing: see `toSharedBytes`. */
  readonly raw: Uint8Array;
}

export type { FlagReport, ServerMailbox };

/** A message of the server with its headers; its body is read later. */
export interface PartialMessage extends ServerEnvelope, Omit<PartialFacts, 'size'> {
  readonly providerThreadId: string | null;
  /** The header block, with the empty line after it. */
  readonly headers: Uint8Array;
  /** RFC822.SIZE in bytes. */
  readonly size: number;
}

/** What {@link ServerMail} works with. */
export interface ServerMailParts extends ServerParts {
  readonly ingest: MailIngest;
  /** Runs work as the server itself, under the current definitions. */
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

const serverActor = { actor: null, requestId: null };

/** The mail of one application's accounts, as their mail servers report it. */
export class ServerMail {
  readonly #parts: ServerMailParts;
  readonly #lost: LostMessages;
  /** E-mails that are stored with their headers only. */
  readonly bodies: MissingBodies;
  /** The stored messages by UID. */
  readonly uids: StoredUids;

  constructor(parts: ServerMailParts) {
    this.#parts = parts;
    this.bodies = new MissingBodies(parts);
    this.uids = new StoredUids(parts.database);
    this.#lost = new LostMessages(parts);
  }

  /**
   * Stores the list of the server's mailboxes: creates new ones, recognises renamed ones, and maps roles. The messages of mailboxes
   * that the server does not list any more are lost, see {@link removeLost}.
   *
   * @returns the mailboxes that the server has.
   */
  applyMailboxes(account: MailAccount, list: readonly ServerMailbox[]): Promise<SyncMailbox[]> {
    return this.#run(account, async (mail) => {
      await applyMailboxList(mail, account, list, this.#lost);
      return selectSynchronised(await readMailboxRows(mail.database, mail.transaction, account.id));
    });
  }

  /** The mailboxes that the server has. */
  async readMailboxes(account: number): Promise<SyncMailbox[]> {
    return selectSynchronised(await readMailboxRows(this.#parts.database, null, account));
  }

  /** Selects the UIDs whose messages are to be read: neither stored, nor moved away or deleted here. */
  findUnknownUids(mailbox: SyncMailbox, uids: readonly number[]): Promise<number[]> {
    return findUnknownUids(this.#parts.database, mailbox.id, requireValidity(mailbox), uids);
  }

  /**
   * Links messages that the account already has, without reading their bytes: by the server's id, or for messages that were lost
   * elsewhere or are expected here by Message-ID, size and date of receipt.
   *
   * @returns the UIDs of the other messages, in their order.
   */
  linkKnown(account: MailAccount, mailbox: SyncMailbox, messages: readonly ServerEnvelope[]): Promise<number[]> {
    const uidvalidity = requireValidity(mailbox);
    return this.#run(account, async (mail) => {
      const server = await this.#readServer(mail, account);
      const deleted = await linkDeleted(mail, server, { ...mailbox, uidvalidity }, messages);
      const rest = messages.filter(({ uid }) => !deleted.has(uid));
      const found = await findKnownMessages(mail, account.id, mailbox.id, rest);
      const known = rest.flatMap((each): KnownMessage[] => {
        const emailId = found.get(each.uid);
        const flags = normaliseFlags(each.flags, each.labels);
        return emailId === undefined ? [] : [{ emailId, uid: each.uid, uidvalidity, modseq: each.modseq, flags }];
      });
      await linkMessages(mail, server, mailbox.id, known);
      const linked = rest.flatMap((each) => {
        const emailId = found.get(each.uid);
        return emailId === undefined ? [] : [{ ...each, emailId }];
      });
      await setProviderIds(mail, linked);
      return rest.map(({ uid }) => uid).filter((uid) => !found.has(uid));
    });
  }

  /**
   * Stores messages with the position up to which the mailbox was read. Messages that the account already has are linked. Batches of
   * some tens are fastest.
   *
   * @param reading.quiet no events about the messages: for the first synchronisation of a mailbox.
   * @returns one result for each message. A message that cannot be stored does not stop the others.
   */
  async storeMessages(
    account: MailAccount,
    mailbox: SyncMailbox,
    messages: readonly ServerMessage[],
    { cursor, quiet = false }: MailboxReading,
  ): Promise<IngestResult[]> {
    const uidvalidity = requireValidity(mailbox);
    processCounters.mailReceived += messages.length;
    // Rules and vacation replies apply to what arrives in the inbox, and not to what a first synchronisation finds there.
    const isNew = !quiet && mailbox.role === 'inbox';
    const incoming = messages.map((each) => ({ ...toIncoming(mailbox, uidvalidity, each), isNew }));
    const source = this.#createSource(account, { ...mailbox, uidvalidity }, { cursor, isQuiet: quiet });
    return this.#parts.ingest.store(account, incoming, serverActor, source);
  }

  /**
   * Stores the headers and the structure of messages: they are listed and found at once, with the `bodyState` partial.
   * {@link MissingBodies.complete} gives them their bodies. Rules for arriving mail do not apply to them.
   */
  async storePartial(
    account: MailAccount,
    mailbox: SyncMailbox,
    messages: readonly PartialMessage[],
    { cursor, quiet = false }: MailboxReading,
  ): Promise<IngestResult[]> {
    const uidvalidity = requireValidity(mailbox);
    const source = this.#createSource(account, { ...mailbox, uidvalidity }, { cursor, isQuiet: quiet });
    const incoming = messages.map(({ headers, size, attachments, snippet, ...each }) => ({
      ...toIncoming(mailbox, uidvalidity, { ...each, raw: headers }),
      partial: { size, attachments, ...(snippet !== undefined && { snippet }) },
    }));
    return this.#parts.ingest.store(account, incoming, serverActor, source);
  }

  /** Where the message of an e-mail is on the server, to read its body; null where it is not known. */
  readRemoteMessage(emailId: number): Promise<RemoteMessage | null> {
    return readRemoteMessage(this.#parts.database, emailId);
  }

  /** Applies flags that the server reports. Flags that are changed here and not sent yet keep their local value. */
  applyFlags(
    account: MailAccount,
    mailbox: SyncMailbox,
    reports: readonly FlagReport[],
    cursor: MailboxCursor,
  ): Promise<void> {
    const uidvalidity = requireValidity(mailbox);
    return this.#run(account, async (mail) => {
      await storeFlagReports(mail, account, { id: mailbox.id, uidvalidity }, reports);
      await setCursor(mail, mailbox, cursor);
    });
  }

  /**
   * Stores that messages are no longer in a mailbox. E-mails that the server has nowhere else are lost: they are still
   * shown, until the server shows them in another mailbox, or {@link removeLost} deletes them.
   */
  applyVanished(
    account: MailAccount,
    mailbox: SyncMailbox,
    uids: readonly number[],
    cursor: MailboxCursor,
  ): Promise<void> {
    const uidvalidity = requireValidity(mailbox);
    return this.#run(account, async (mail) => {
      await this.#lost.markVanished(mail, account, { id: mailbox.id, uidvalidity }, uids);
      await setCursor(mail, mailbox, cursor);
    });
  }

  /**
   * Stores that the message of a running operation was moved or deleted by another program. Changes of its flags and
   * its permanent deletion are carried out where it is found; a move is given up.
   */
  reportMissing(account: MailAccount, { id, mailboxId, uidvalidity, uid }: MailOperation): Promise<void> {
    return this.#run(account, async (mail) => {
      await new OperationRows(mail.database, mail.transaction, account.id).retry(id, null, null);
      if (mailboxId !== null && uidvalidity !== null && uid !== null)
        await this.#lost.markVanished(mail, account, { id: mailboxId, uidvalidity }, [uid]);
    });
  }

  /**
   * Deletes lost e-mails after all mailboxes have been read, with their notes and history. Deletions that wait for
   * their message to be shown are confirmed.
   *
   * @param before ISO 8601: when the reading of the mailboxes began.
   * @returns the keys of the deleted e-mails.
   */
  removeLost(account: MailAccount, before: string): Promise<number[]> {
    return this.#lost.remove(account, before, null);
  }

  /** How many placements are lost. */
  countLost(account: MailAccount): Promise<number> {
    return this.#lost.count(account);
  }

  /**
   * Handles a new UIDVALIDITY of a mailbox: its messages are lost until they are linked to their new UIDs. Nothing is
   * deleted.
   *
   * @returns the mailbox with its new UIDVALIDITY, and nothing read.
   */
  beginNewValidity(account: MailAccount, mailbox: SyncMailbox, uidvalidity: string): Promise<SyncMailbox> {
    return this.#run(account, async (mail) => {
      await this.#lost.markMailbox(mail, account, mailbox.id);
      const cursor = { uidvalidity, uidnext: null, highestmodseq: null, backfillUid: null, reconciledAt: null };
      await setCursor(mail, mailbox, cursor);
      return { ...mailbox, ...cursor };
    });
  }

  /** All messages of a mailbox were listed after {@link beginNewValidity}: deletes those that did not come back, and are nowhere else. */
  finishNewValidity(account: MailAccount, mailbox: SyncMailbox): Promise<number[]> {
    return this.#lost.remove(account, isoTime(this.#parts.clock.now()), mailbox.id);
  }

  /** Stores what has been read of a mailbox. */
  setCursor(account: MailAccount, mailbox: SyncMailbox, cursor: MailboxCursor): Promise<void> {
    return this.#run(account, (mail) => setCursor(mail, mailbox, cursor));
  }

  #createSource(
    account: MailAccount,
    mailbox: { readonly id: number; readonly uidvalidity: string },
    { cursor, isQuiet }: { readonly cursor: MailboxCursor; readonly isQuiet: boolean },
  ): IngestSource {
    const toMail = (transaction: MailTransaction['transaction']): MailTransaction => ({
      ...this.#parts,
      ...serverActor,
      transaction,
    });
    return {
      isQuiet,
      findDeleted: async (transaction, messages) => {
        const mail = toMail(transaction);
        return removeDeletedCopies(mail, await this.#readServer(mail, account), mailbox, messages);
      },
      link: async (transaction, messages) => {
        const mail = toMail(transaction);
        await linkMessages(mail, await this.#readServer(mail, account), mailbox.id, messages.map(toKnown));
        await setProviderIds(
          mail,
          messages.flatMap(({ incoming, emailId }) => (incoming.server ? [{ ...incoming.server, emailId }] : [])),
        );
      },
      finish: (transaction) => setCursor(toMail(transaction), mailbox, cursor),
    };
  }

  async #readServer({ database, transaction }: MailTransaction, { id }: MailAccount): Promise<AccountServer> {
    const server = (await readAccountServers(database, transaction, [id])).get(id);
    return server ?? { accountId: id, hasGmailLabels: false };
  }

  #run<T>(account: MailAccount, work: (mail: MailTransaction) => Promise<T>): Promise<T> {
    return runServerTransaction(this.#parts, account, work);
  }
}

const selectSynchronised = (rows: readonly MailboxRow[]): SyncMailbox[] =>
  rows.filter(({ rawPath }) => rawPath !== null);

async function setCursor(
  { database, transaction }: MailTransaction,
  { id }: Pick<SyncMailbox, 'id'>,
  cursor: MailboxCursor,
): Promise<void> {
  await new MailboxRows(database, transaction).setPosition(id, cursor);
}

function toIncoming({ id, role, path }: SyncMailbox, uidvalidity: string, message: ServerMessage): IncomingMail {
  const { uid, modseq, raw, internalDate, providerId, providerThreadId } = message;
  const flags = normaliseFlags(message.flags, message.labels);
  const { read, starred, answered, forwarded, deleted, keywords, labels } = readEmailFlags(flags);
  return {
    raw,
    mailbox: { id, folder: role ?? path },
    receivedAt: internalDate,
    flags: { read, starred, answered, draft: flags.includes('\\Draft') },
    labels,
    server: {
      position: { uidvalidity, uid, modseq, flags },
      forwarded,
      deleted,
      keywords,
      providerId,
      providerThreadId,
    },
  };
}

function toKnown({ incoming, emailId }: IdentifiedMail & { readonly emailId: number }): KnownMessage {
  const { uidvalidity = null, uid = null, modseq = null, flags = null } = incoming.server?.position ?? {};
  if (uidvalidity === null || uid === null) throw new Error(`a copy of the e-mail ${emailId} has no UID`);
  return { emailId, uidvalidity, uid, modseq, flags: flags ?? [] };
}
