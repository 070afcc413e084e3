/**
 * Brings one mailbox of the store up to date: new messages, changed flags, messages that are gone. With QRESYNC or CONDSTORE the server
 * reports what changed; otherwise the lists of both sides are compared.
 *
 * E-mails that are gone from a mailbox are only marked as lost, because they may have been moved to another one. They are deleted when
 * all mailboxes have been looked at, see `ServerMail.removeLost`.
 */

import type { BackgroundPace } from '../../base/background-pace.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import { normaliseFlags } from '../store/server-flags.ts';
import type { MailboxCursor, ServerMail } from '../store/server-mail.ts';
import type { ReportedProblem } from './account-reports.ts';
import type { MailboxState } from './mailbox-state.ts';
import type { MessageDownload } from './message-download.ts';
import type { SyncTimes } from './sync-services.ts';
import type { ReportedFlags, SelectedMailbox, SyncSession } from './sync-session.ts';

/** What the synchronisation of one account works with, on one connection. */
export interface SyncParts {
  /** The first synchronisation leaves time for requests. */
  readonly pace: BackgroundPace;
  readonly account: MailAccount;
  /** Only messages received since this date are stored; null: all. */
  readonly since: string | null;
  readonly session: SyncSession;
  readonly serverMail: ServerMail;
  readonly download: MessageDownload;
  readonly times: SyncTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Adds a problem to the log of the account. */
  readonly report: (problem: ReportedProblem) => Promise<void>;
  /** @throws LeaseLost when another server may synchronise the account now. */
  readonly requireLease: () => void;
}

/** What a poll of a mailbox found. */
export interface PullResult {
  /** Messages are gone: the other mailboxes must be looked at before their e-mails are deleted. */
  readonly hasLost: boolean;
  /** A message that the account already had was found here: somebody has moved or copied it. */
  readonly hasMoved: boolean;
}

/** For servers that do not report changed flags: how many of the newest messages are compared at each poll. */
const comparedFlags = 1000;
/** Messages whose flags are compared or stored at once. */
const messagesPerStep = 200;
/** If more messages than these and most of the mailbox are gone, the loss must last before it is believed. */
const massLoss = { messages: 50, part: 0.8 };

/** A mailbox whose UIDVALIDITY changes more often than this before it is complete cannot be synchronised on this connection. */
const maxValidityChanges = 3;

/** Synchronises mailboxes on one connection. */
export class MailboxSync {
  readonly #parts: SyncParts;

  constructor(parts: SyncParts) {
    this.#parts = parts;
  }

  /** Stores what is new or changed in a mailbox, and marks what is gone. */
  async pull(state: MailboxState): Promise<PullResult> {
    const selected = await this.#select(state);
    if (state.mailbox.uidnext === null) {
      // Everything that the mailbox contains is left to the backfill.
      await this.#setCursor(state, createFirstCursor(selected));
      return { hasLost: false, hasMoved: false };
    }
    const reported = await this.#applyChanges(state, selected);
    const hasMoved = await this.#storeNew(state, selected);
    const isCompared = reported === null && !this.#isCountRight(state, selected);
    const gone = reported ?? (isCompared ? await this.#compare(state, selected) : []);
    const hasLost = await this.#applyGone(state, gone, readCursor(state, selected));
    const hasMissed =
      reported !== null && (await this.#isDifferent(state, selected)) && (await this.#findMissed(state));
    return { hasLost: hasLost || hasMissed, hasMoved };
  }

  /** Looks for lost messages among those that the server lists here without giving them. */
  async linkSkipped(state: MailboxState): Promise<void> {
    await this.#select(state);
    if (state.skipped.size > 0) await this.#parts.download.linkSkipped(state);
  }

  /** Compares all messages and flags of a mailbox with the server's list. */
  async reconcile(state: MailboxState): Promise<PullResult> {
    const first = await this.pull(state);
    const selected = this.#parts.session.selected;
    if (!selected || !state.isComplete) return first;
    const gone = await this.#compare(state, selected);
    await this.#compareFlags(state, Number.POSITIVE_INFINITY);
    const hasLost = await this.#applyGone(state, gone, { reconciledAt: isoTime(this.#parts.clock.now()) });
    return { ...first, hasLost: first.hasLost || hasLost };
  }

  /**
   * Marks messages that are gone from the server. Each of them is searched for again, and only those that are not found
   * are marked. The loss of most of a mailbox is only believed if it lasts.
   *
   * @returns whether messages are gone.
   */
  async #applyGone(state: MailboxState, uids: readonly number[], cursor: MailboxCursor): Promise<boolean> {
    if (uids.length === 0) {
      await this.#finish(state, cursor);
      return false;
    }
    const { session, serverMail, account, requireLease } = this.#parts;
    const existing = await session.findExisting(uids);
    const known = await serverMail.uids.list(state.mailbox);
    const lost = uids.filter((uid) => !existing.has(uid));
    const lostKnown = lost.filter((uid) => known.has(uid)).length;
    if (existing.size > 0) await this.#reportInconsistency(state, existing.size);
    if (isMassLoss(lostKnown, known.size) && !(await this.#hasMassLossLasted(state, lostKnown))) return true;
    state.massLossSince = null;
    requireLease();
    await serverMail.applyVanished(account, state.mailbox, lost, cursor);
    state.setCursor(cursor);
    state.count = known.size - lostKnown;
    return lostKnown > 0;
  }

  /** Selects a mailbox and handles a changed UIDVALIDITY. */
  async #select(state: MailboxState): Promise<SelectedMailbox> {
    const { session, serverMail, account, requireLease } = this.#parts;
    const selected = await session.select(state.mailbox.rawPath ?? state.mailbox.path);
    requireLease();
    const { uidvalidity } = state.mailbox;
    if (uidvalidity !== null && uidvalidity !== selected.uidvalidity) {
      state.validityChanges += 1;
      if (state.validityChanges > maxValidityChanges)
        throw Object.assign(new Error('The UIDVALIDITY of the mailbox keeps changing.'), { code: 'InvalidResponse' });
      // All UIDs are new. The messages are linked again while they are listed, as in a first synchronisation.
      state.mailbox = await serverMail.beginNewValidity(account, state.mailbox, selected.uidvalidity);
      state.count = null;
      state.remaining = null;
      state.isRelinking = true;
      state.skipped.clear();
    }
    state.seen = readStatus(state, selected);
    return selected;
  }

  /** Applies changed flags. @returns the UIDs that are gone; null where the server does not report them. */
  async #applyChanges(
    state: MailboxState,
    { highestmodseq: current }: SelectedMailbox,
  ): Promise<readonly number[] | null> {
    const { session, serverMail, account } = this.#parts;
    const { highestmodseq } = state.mailbox;
    if (highestmodseq === null || current === null) {
      await this.#compareFlags(state, comparedFlags);
      return null;
    }
    if (highestmodseq === current) return session.hasQresync ? [] : null;
    const { changes, vanished } = await session.fetchChanges(highestmodseq);
    // Also of UIDs that no poll has seen yet: a message that was moved from here to this mailbox is stored with its new UID at once.
    const known = changes.filter(({ uid }) => isReached(state, uid));
    for (const chunk of splitIntoChunks(known, messagesPerStep))
      await serverMail.applyFlags(account, state.mailbox, chunk, {});
    return session.hasQresync ? vanished.filter((uid) => isReached(state, uid)) : null;
  }

  /** Compares the flags of the newest messages: at regular looks for servers that do not report changes, and in a comparison of everything. */
  async #compareFlags(state: MailboxState, count: number): Promise<void> {
    const { session, serverMail, account } = this.#parts;
    let below: number | null = null;
    for (let compared = 0; compared < count; compared += messagesPerStep) {
      const stored = await serverMail.uids.readNewest(state.mailbox, below, messagesPerStep);
      const last = stored.at(-1);
      if (!last) return;
      below = last.uid;
      const flags = new Map(stored.map((each) => [each.uid, each.flags]));
      const reports = await session.fetchFlags([...flags.keys()]);
      const changes = reports.filter((each) => !hasSameFlags(each, flags.get(each.uid) ?? null));
      if (changes.length > 0) await serverMail.applyFlags(account, state.mailbox, changes, {});
    }
  }

  /** Stores messages that arrived since the last poll. @returns whether some of them were in the account already. */
  async #storeNew(state: MailboxState, selected: SelectedMailbox): Promise<boolean> {
    const { session, download } = this.#parts;
    const from = state.mailbox.uidnext ?? 1;
    if (selected.uidnext <= from) return false;
    const entries = (await session.fetchEntriesFrom(from)).filter(({ uid }) => !state.skipped.has(uid));
    if (entries.length === 0) return false;
    const { stored, duplicates } = await download.store(state, entries, { quiet: false, order: 'ascending' });
    if (state.count !== null) state.count += stored;
    return duplicates > 0;
  }

  /** Whether the number of messages is what is stored, so that none can be gone. */
  #isCountRight(state: MailboxState, { exists }: SelectedMailbox): boolean {
    return state.count !== null && state.count + state.left + state.skipped.size === exists;
  }

  /**
   * Whether the server's number of messages has differed from what is stored at two polls in succession, for servers that report all
   * changes: then something was missed. A difference that a comparison has not removed is not compared again.
   */
  async #isDifferent(state: MailboxState, { exists }: SelectedMailbox): Promise<boolean> {
    const { serverMail, since } = this.#parts;
    if (!state.isComplete || since !== null) return false;
    const { differences } = state;
    differences.before = differences.last;
    differences.last = exists - state.skipped.size - (await serverMail.uids.count(state.mailbox));
    if (!state.hasDifference || differences.last !== differences.before) return false;
    differences.compared = differences.last;
    return true;
  }

  /** Compares everything, where the number of messages shows that something was missed. @returns whether messages are gone. */
  async #findMissed(state: MailboxState): Promise<boolean> {
    const { selected } = this.#parts.session;
    return selected !== null && this.#applyGone(state, await this.#compare(state, selected), {});
  }

  /** Compares the stored UIDs with the server's list, and stores what is missing. @returns the UIDs that the server does not list. */
  async #compare(state: MailboxState, selected: SelectedMailbox): Promise<number[]> {
    const { session, serverMail, download, since } = this.#parts;
    const listed = await session.searchUids(null);
    const known = await serverMail.uids.list(state.mailbox);
    const expected = Math.min(selected.exists, session.exists);
    if (listed.length < expected) {
      await this.#reportInconsistency(state, expected - listed.length);
      return [];
    }
    const listedSet = new Set(listed);
    const wanted = since === null ? listed : await session.searchUids(null, since);
    const missing = wanted.filter((uid) => isReached(state, uid) && !known.has(uid) && !state.skipped.has(uid));
    state.count = known.size;
    if (missing.length > 0) {
      const entries = await session.fetchEntries(missing, true);
      const { stored } = await download.store(state, entries, { quiet: false, order: 'none' });
      state.count += stored;
    }
    return [...known].filter((uid) => !listedSet.has(uid));
  }

  async #hasMassLossLasted(state: MailboxState, lost: number): Promise<boolean> {
    const { clock, times, report } = this.#parts;
    const now = clock.now();
    // The next poll finds the loss again.
    state.seen = null;
    if (state.massLossSince !== null) return now - state.massLossSince >= times.massLossMilliseconds;
    state.massLossSince = now;
    await report({
      code: 'massLoss',
      message: `The server does not list ${lost} messages of "${state.mailbox.path}" any more, which is most of the mailbox.`,
      cure: 'If the messages were deleted on purpose, nothing is to be done: they are removed here in a moment. Otherwise check the mail server.',
    });
    return times.massLossMilliseconds === 0;
  }

  async #reportInconsistency(state: MailboxState, count: number): Promise<void> {
    state.seen = null;
    await this.#parts.report({
      code: 'protocol',
      message: `The server contradicts itself about ${count} messages of "${state.mailbox.path}", so they were not removed here.`,
      cure: 'If this continues, ask the operator of the mail server to rebuild the index of the mailbox.',
    });
  }

  async #finish(state: MailboxState, cursor: MailboxCursor): Promise<void> {
    const { mailbox } = state;
    const isSame = (Object.keys(cursor) as (keyof MailboxCursor)[]).every((name) => mailbox[name] === cursor[name]);
    if (!isSame) await this.#setCursor(state, cursor);
  }

  async #setCursor(state: MailboxState, cursor: MailboxCursor): Promise<void> {
    this.#parts.requireLease();
    await this.#parts.serverMail.setCursor(this.#parts.account, state.mailbox, cursor);
    state.setCursor(cursor);
  }
}

/** The cursors of a mailbox before any of its messages is stored. */
function createFirstCursor({ uidvalidity, uidnext, exists, highestmodseq }: SelectedMailbox): MailboxCursor {
  return {
    uidvalidity,
    uidnext,
    ...(highestmodseq !== null && { highestmodseq }),
    backfillUid: exists === 0 ? 1 : uidnext,
  };
}

/** The counters at the moment of the selection: what happens later is found by the next poll. */
function readCursor({ mailbox }: MailboxState, { uidnext, highestmodseq }: SelectedMailbox): MailboxCursor {
  return {
    uidnext: Math.max(uidnext, mailbox.uidnext ?? 0),
    ...(highestmodseq !== null && { highestmodseq }),
  };
}

function readStatus({ reported }: MailboxState, selected: SelectedMailbox): NonNullable<MailboxState['seen']> {
  return {
    messages: selected.exists,
    uidnext: selected.uidnext,
    uidvalidity: selected.uidvalidity,
    unseen: reported?.unseen ?? null,
    highestmodseq: selected.highestmodseq,
  };
}

/** Whether the first synchronisation has reached a UID. */
function isReached({ mailbox }: MailboxState, uid: number): boolean {
  return mailbox.backfillUid !== null && uid >= mailbox.backfillUid;
}

function isMassLoss(lost: number, known: number): boolean {
  return lost >= massLoss.messages && lost >= known * massLoss.part;
}

function hasSameFlags({ flags, labels }: ReportedFlags, stored: readonly string[] | null): boolean {
  return stored !== null && JSON.stringify(normaliseFlags(flags, labels)) === JSON.stringify(normaliseFlags(stored));
}
