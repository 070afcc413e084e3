import type { MailboxCursor, SyncMailbox } from '../store/server-mail.ts';
import type { ListedMailbox, MailboxStatus } from './server-mailboxes.ts';

/** What a connection knows about one mailbox: the stored cursors, and the server's counters at the last poll. */
export class MailboxState {
  mailbox: SyncMailbox;
  /** Counters at the last poll; null: not polled on this connection. */
  seen: MailboxStatus | null = null;
  /** Counters that the server reported last. */
  reported: MailboxStatus | null;
  /** Messages that are stored with a UID, by the last comparison with the server's list; null: not compared on this connection. */
  count: number | null = null;
  /** UIDs that the backfill has not reached, ascending; null: not listed on this connection. */
  remaining: number[] | null = null;
  /** Whether the messages have got new UIDs, so that most of them are stored already. */
  isRelinking = false;
  /** How often the UIDVALIDITY has changed since the mailbox was complete. */
  validityChanges = 0;
  /** When most of the mailbox was found missing, in milliseconds since the epoch; null: it is not. */
  massLossSince: number | null = null;
  /** By how many messages the server's number differed from what is stored, at the last two polls and at the last comparison. */
  readonly differences = { before: 0, last: 0, compared: 0 };
  /** Messages that the server lists but does not give, or that cannot be stored. They are not tried again on this connection. */
  readonly skipped = new Set<number>();

  constructor(mailbox: SyncMailbox, listed: ListedMailbox | null) {
    this.mailbox = mailbox;
    this.reported = listed?.status ?? null;
  }

  /** Whether everything that the server had at the first synchronisation is stored. */
  get isComplete(): boolean {
    return this.mailbox.backfillUid === 1 || !this.mailbox.selectable;
  }

  /** Whether the server reports other counters than at the last poll. */
  get isChanged(): boolean {
    const { seen, reported, mailbox } = this;
    if (!mailbox.selectable) return false;
    if (reported === null || this.hasDifference) return true;
    if (seen !== null) return JSON.stringify(seen) !== JSON.stringify(reported);
    // The first poll on this connection: the stored cursors tell whether anything has changed, if the server counts all changes.
    const { uidvalidity, uidnext, highestmodseq } = mailbox;
    return (
      highestmodseq === null ||
      reported.highestmodseq !== highestmodseq ||
      reported.uidvalidity !== uidvalidity ||
      reported.uidnext !== uidnext
    );
  }

  /** Whether the server's number of messages is not what is stored, and no comparison has explained that. */
  get hasDifference(): boolean {
    const { last, compared } = this.differences;
    return last !== 0 && last !== compared;
  }

  /** Messages of the mailbox that the backfill has not stored. */
  get left(): number {
    if (this.isComplete) return 0;
    return this.remaining?.length ?? this.total;
  }

  /** Messages of the mailbox, as far as the server has reported them. */
  get total(): number {
    return this.seen?.messages ?? this.reported?.messages ?? 0;
  }

  /** Takes over what is stored now, and the server's list. */
  update(mailbox: SyncMailbox, listed: ListedMailbox | null): void {
    this.mailbox = { ...mailbox };
    this.reported = listed?.status ?? null;
  }

  /** Takes over cursors that are stored now. */
  setCursor(cursor: MailboxCursor): void {
    this.mailbox = { ...this.mailbox, ...cursor };
  }
}
