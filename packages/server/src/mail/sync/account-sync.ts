/**
 * The work of one connection to an account's server: polls all mailboxes, completes their first
 * synchronisation, waits for new mail in IDLE, and polls the others regularly and after reported changes (NOTIFY).
 */
import { isoTime } from '../../base/clock.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { ReportParts } from './account-reports.ts';
import { type AccountStatus, ProgressReporter } from './account-reports.ts';
import { backfillStep } from './backfill.ts';
import type { BodyDownload } from './body-download.ts';
import type { ConnectionSlot } from './connection-slots.ts';
import { MailboxNotifications, type ReportedChange } from './mailbox-notifications.ts';
import { MailboxState } from './mailbox-state.ts';
import { MailboxSync, type SyncParts } from './mailbox-sync.ts';
import { NotifiedPolls } from './notified-polls.ts';
import type { OperationExecutor } from './operation-executor.ts';
import { compareByImportance, readServerMailboxes } from './server-mailboxes.ts';
import { isMailboxMissing } from './sync-session.ts';
import { Wakeup } from './wakeup.ts';

/** What the work of one connection is done with. */
export interface AccountSyncParts extends SyncParts {
  readonly reports: ReportParts;
  readonly slot: ConnectionSlot;
  readonly bodies: BodyDownload;
  readonly createExecutor: () => OperationExecutor;
  /** Stores the status of the account. */
  readonly setStatus: (status: AccountStatus, lastSyncAt?: string) => Promise<void>;
  /** Everything that the server had is stored, and no problem is left. */
  readonly onSynchronised: () => void;
  readonly signal: AbortSignal;
}

/** How often new mail is looked for during a first synchronisation. */
const inboxMilliseconds = 10_000;
/** The same while bodies of older messages are downloaded. */
const bodyInboxMilliseconds = 2000;
/** When the list of mailboxes is read again after it has changed: several may be renamed one after the other. */
const renamedMilliseconds = 3000;
/** How often a server may list a mailbox that it does not have. */
const maxMissing = 5;
/** How often the inbox of a server without IDLE is looked at. */
const noIdleMilliseconds = 15_000;
/** When the mailboxes are polled again if messages were lost during a poll: they may have been moved meanwhile. */
const lostMilliseconds = 1000;
/** The largest number of messages that can be stored, whatever number the server names. */
const maxCount = 2 ** 31 - 1;
/** A time without changes after which the time of the last synchronisation is stored again. */
const lastSyncMilliseconds = 300_000;

/** Synchronises an account on one connection. */
export class AccountSync {
  readonly #parts: AccountSyncParts;
  readonly #mailboxes: MailboxSync;
  readonly #executor: OperationExecutor;
  readonly #progress: ProgressReporter;
  readonly #notifications: MailboxNotifications;
  readonly #polls: NotifiedPolls;
  readonly #wakeup = new Wakeup();
  readonly #openedAt = performance.now();
  #states: MailboxState[] = [];
  /** The list of mailboxes that the store was last updated with, as text. */
  #appliedList = '';
  /** How often a mailbox of the present list could not be selected, because it does not exist. */
  #missing = 0;
  #isInboxChanged = false;
  #isPollWanted = true;
  #areOperationsWanted = true;
  #pollTimer: NodeJS.Timeout | undefined;
  #nextPoll = 0;
  #nextInboxPoll = 0;
  #nextProbe = 0;
  #lastSyncStored = 0;

  constructor(parts: AccountSyncParts) {
    this.#parts = parts;
    this.#mailboxes = new MailboxSync(parts);
    this.#executor = parts.createExecutor();
    this.#progress = new ProgressReporter(parts.reports, parts.account.id);
    this.#polls = new NotifiedPolls(parts.times.pollMilliseconds);
    this.#notifications = new MailboxNotifications(parts.session, parts.times, () => this.#noteNotification());
    const { client } = parts.session;
    for (const event of ['exists', 'expunge', 'flags'] as const)
      client.on(event, (change: ReportedChange) => this.#noteChange(change));
    client.on('close', this.#signal);
    parts.signal.addEventListener('abort', this.#signal);
  }

  readonly #signal = (): void => this.#wakeup.signal();

  /** Polls all mailboxes soon. */
  wake(): void {
    this.#isPollWanted = true;
    this.wakeOperations();
  }

  /** Sends what waits to be sent soon. */
  wakeOperations(): void {
    this.#areOperationsWanted = true;
    this.#wakeup.signal();
  }

  /** Works until the connection is given up for another account. @throws when the connection fails or the signal is aborted. */
  async run(): Promise<void> {
    // Before the first poll, so that no change comes between the two.
    await this.#notifications.begin();
    await this.#poll();
    await this.#sendOperations();
    await this.#backfill();
    await this.#setLive();
    for (;;) {
      this.#requireOpen();
      if (this.#areOperationsWanted) await this.#sendOperations();
      if (this.#isInboxChanged) await this.#pullInbox();
      if (this.#isPollDue) await this.#pollAndReconcile();
      if (this.#mayYield()) return;
      if (!(await this.#downloadBodies())) await this.#wait();
    }
  }

  /** Downloads some bodies of messages that were stored by their headers. @returns whether others may be due. */
  async #downloadBodies(): Promise<boolean> {
    const hasDownloaded = await this.#parts.bodies.step();
    await this.#reportBodies();
    const now = performance.now();
    if (hasDownloaded && now >= this.#nextInboxPoll) {
      this.#nextInboxPoll = now + bodyInboxMilliseconds;
      await this.#selectInbox();
    }
    return hasDownloaded;
  }

  /** Reports how many bodies are still to be downloaded, if the account shows another number. */
  async #reportBodies(): Promise<void> {
    const { waiting, shown } = await this.#parts.bodies.count();
    if (waiting !== shown) this.#progress.report({ bodiesWaiting: waiting });
  }

  /** Stores what is not stored yet about the progress. */
  async end(): Promise<void> {
    this.#parts.signal.removeEventListener('abort', this.#signal);
    clearTimeout(this.#pollTimer);
    await this.#parts.bodies.settle().catch(() => {}); // what could not be stored is downloaded again
    await this.#progress.flush();
  }

  #requireOpen(): void {
    this.#parts.signal.throwIfAborted();
    if (!this.#parts.session.client.usable)
      throw Object.assign(new Error('The connection was closed.'), { code: 'NoConnection' });
  }

  #noteChange({ path, earlier = false }: ReportedChange): void {
    if (path === this.#inbox?.mailbox.rawPath) {
      this.#isInboxChanged = true;
      this.#wakeup.signal();
      // The server will not report it again when another mailbox is selected. Without NOTIFY, the next regular poll finds it.
    } else if (this.#notifications.isActive && !earlier) this.#noteNotification();
  }

  /** A mailbox that is not selected may have changed. IDLE continues until the poll is due. */
  #noteNotification(isReported = true): void {
    const now = performance.now();
    this.#polls.note(now, isReported);
    clearTimeout(this.#pollTimer);
    this.#pollTimer = setTimeout(this.#signal, Math.max(0, this.#polls.dueAt - now)).unref();
  }

  get #isPollDue(): boolean {
    return this.#isPollWanted || performance.now() >= this.#pollDueAt;
  }

  /** When the mailboxes are to be looked at, by `performance.now()`. */
  get #pollDueAt(): number {
    return Math.min(this.#nextPoll, this.#polls.dueAt);
  }

  get #inbox(): MailboxState | undefined {
    return this.#states.find(({ mailbox }) => mailbox.role === 'inbox' && mailbox.selectable);
  }

  /**
   * Polls all mailboxes that have changed since the last poll. It is then known for each missing message whether it
   * was moved; the e-mails of those that were not moved are deleted.
   */
  async #poll(): Promise<void> {
    const { serverMail, account, clock, times } = this.#parts;
    this.#isPollWanted = false;
    this.#areOperationsWanted = true;
    // Messages that were lost in this millisecond may have been lost by this poll.
    const begunAt = isoTime(clock.now() - 1);
    this.#polls.begin(performance.now());
    const list = await this.#readMailboxes();
    const { hasChanged, hasLost } = await this.#pullChanged();
    const unread = this.#states.filter(({ skipped, mailbox }) => skipped.size > 0 && mailbox.selectable);
    if (unread.length > 0 && (await serverMail.countLost(account)) > 0)
      for (const state of unread) await this.#whileListed(() => this.#mailboxes.linkSkipped(state));
    let pause = Math.min(times.pollMilliseconds, list === 'changed' ? renamedMilliseconds : times.pollMilliseconds);
    if (this.#states.every(({ isComplete }) => isComplete)) {
      const mayHaveMoved = await this.#mayHaveMoved();
      if (!mayHaveMoved) await serverMail.removeLost(account, begunAt);
      // The next poll removes what this one has lost.
      const isWaiting = (hasLost || list !== 'same') && (await serverMail.countLost(account)) > 0;
      if (mayHaveMoved || isWaiting) pause = Math.min(pause, lostMilliseconds);
    }
    const now = performance.now();
    this.#polls.end(now, list === 'changed' || hasChanged);
    this.#nextPoll = now + pause;
    this.#nextProbe = now + times.probeMilliseconds;
    if (list !== 'changed') return;
    // Dovecot reports no changes of renamed mailboxes until NOTIFY is sent again, and misses changes at that moment.
    await this.#notifications.begin();
    if (this.#notifications.isActive) this.#noteNotification(false);
  }

  /** Synchronises the mailboxes that have changed since the last poll. */
  async #pullChanged(): Promise<{ readonly hasChanged: boolean; readonly hasLost: boolean }> {
    let [hasChanged, hasLost] = [false, false];
    for (const state of this.#states) {
      if (!state.isChanged) continue;
      if (state === this.#inbox) this.#isInboxChanged = false;
      await this.#whileListed(async () => {
        hasLost = (await this.#mailboxes.pull(state)).hasLost || hasLost;
        if (!state.isComplete && state.remaining === null) await this.#step(state);
        hasChanged = true;
      });
    }
    return { hasChanged, hasLost };
  }

  /** Works on a mailbox. If it was renamed or deleted after the list was read, the list is read again. */
  async #whileListed(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#missing += 1;
      if (!isMailboxMissing(error) || this.#missing > maxMissing) throw error;
      this.#isPollWanted = true;
    }
  }

  /**
   * Whether a lost message may be in a mailbox that has received messages since this poll looked at it: somebody may have moved it there
   * and back.
   */
  async #mayHaveMoved(): Promise<boolean> {
    const { serverMail, account } = this.#parts;
    if ((await serverMail.countLost(account)) === 0) return false;
    await this.#readMailboxes();
    return this.#states.some(
      ({ seen, reported, mailbox }) =>
        mailbox.selectable && reported !== null && reported.uidnext !== (seen?.uidnext ?? mailbox.uidnext),
    );
  }

  /** Polls the inbox, and the other mailboxes if something was moved. */
  async #pullInbox(): Promise<void> {
    const inbox = this.#inbox;
    this.#isInboxChanged = false;
    if (!inbox) return;
    const { hasLost, hasMoved } = await this.#mailboxes.pull(inbox);
    if (hasLost || hasMoved) await this.#poll();
  }

  /**
   * Reads the list of mailboxes, and stores those that were created, renamed or deleted.
   *
   * @returns whether the list differs from the last one on this connection.
   */
  async #readMailboxes(): Promise<'same' | 'first' | 'changed'> {
    const { session, serverMail, account, requireLease } = this.#parts;
    const listed = readServerMailboxes(await session.list(), session.isGmail);
    if (listed.length > mailLimits.serverMailboxes)
      throw Object.assign(new Error('The server lists too many mailboxes.'), { code: 'TooManyMailboxes' });
    const list = JSON.stringify(listed.map(({ status: _, uidnext: __, ...rest }) => rest));
    const byPath = new Map(listed.map((each) => [each.rawPath, each]));
    if (list === this.#appliedList) {
      for (const state of this.#states) state.reported = byPath.get(state.mailbox.rawPath ?? '')?.status ?? null;
      return 'same';
    }
    const isFirst = this.#appliedList === '';
    this.#missing = 0;
    requireLease();
    const stored = await serverMail.applyMailboxes(account, listed);
    const hasLost = (await serverMail.countLost(account)) > 0;
    const known = new Map(this.#states.map((state) => [state.mailbox.id, state]));
    this.#states = stored
      .map((mailbox) => {
        const listedMailbox = byPath.get(mailbox.rawPath ?? '') ?? null;
        const state = known.get(mailbox.id) ?? new MailboxState(mailbox, listedMailbox);
        state.update(mailbox, listedMailbox);
        // An earlier connection may have begun to link messages to new UIDs.
        if (hasLost && !state.isComplete) state.isRelinking = true;
        return state;
      })
      .sort((one, other) => compareByImportance(one.mailbox, other.mailbox));
    this.#appliedList = list;
    return isFirst ? 'first' : 'changed';
  }

  /** Stores the older messages, mailbox by mailbox in turns, until all are complete. */
  async #backfill(): Promise<void> {
    if (this.#states.every(({ isComplete }) => isComplete)) return;
    await this.#parts.setStatus('syncing');
    this.#reportProgress();
    while (this.#states.some(({ isComplete }) => !isComplete))
      for (const state of this.#states) {
        if (state.isComplete) continue;
        await this.#whileListed(() => this.#step(state));
        await this.#interleave();
      }
    await this.#progress.flush();
  }

  async #step(state: MailboxState): Promise<void> {
    this.#requireOpen();
    if (!(await backfillStep(this.#parts, state))) await this.#mailboxes.pull(state);
    this.#reportProgress();
    await this.#reportBodies();
  }

  /** Work that does not wait for the end of a first synchronisation. */
  async #interleave(): Promise<void> {
    const now = performance.now();
    if (this.#areOperationsWanted) await this.#sendOperations();
    if (this.#isPollDue) return this.#poll();
    if (this.#isInboxChanged || now >= this.#nextInboxPoll) {
      this.#nextInboxPoll = now + inboxMilliseconds;
      await this.#pullInbox();
    }
  }

  async #sendOperations(): Promise<void> {
    this.#areOperationsWanted = false;
    if (await this.#executor.run()) this.#isPollWanted = true;
  }

  async #pollAndReconcile(): Promise<void> {
    await this.#poll();
    await this.#backfill();
    const { clock, times, session } = this.#parts;
    const interval = session.hasCondstore ? times.reconcileMilliseconds : times.plainReconcileMilliseconds;
    let hasLost = false;
    for (const state of this.#states) {
      const { reconciledAt, selectable } = state.mailbox;
      if (!selectable || (reconciledAt !== null && clock.now() - Date.parse(reconciledAt) < interval)) continue;
      await this.#whileListed(async () => {
        hasLost = (await this.#mailboxes.reconcile(state)).hasLost || hasLost;
      });
      await this.#interleave();
    }
    if (hasLost) await this.#poll();
    this.#parts.onSynchronised();
    if (clock.now() - this.#lastSyncStored >= lastSyncMilliseconds) await this.#setLive();
  }

  async #setLive(): Promise<void> {
    const now = this.#parts.clock.now();
    this.#lastSyncStored = now;
    this.#parts.onSynchronised();
    await this.#progress.flush();
    await this.#parts.setStatus('live', isoTime(now));
  }

  #reportProgress(): void {
    const total = this.#states.reduce((sum, state) => sum + state.total, 0);
    const left = this.#states.reduce((sum, state) => sum + state.left, 0);
    this.#progress.report({
      backfillDone: Math.min(maxCount, Math.max(0, total - left)),
      backfillTotal: Math.min(maxCount, total),
    });
  }

  /** Whether another account waits for this connection, and this one has been used for a while. */
  #mayYield(): boolean {
    return (
      this.#parts.slot.isWanted &&
      performance.now() - this.#openedAt >= this.#parts.times.minConnectionMilliseconds &&
      !this.#areOperationsWanted
    );
  }

  /** Selects the inbox, so that the server reports its changes, and notes what has changed since the last poll. */
  async #selectInbox(): Promise<MailboxState | undefined> {
    const { session } = this.#parts;
    const inbox = this.#inbox;
    if (!inbox || session.selected?.path === inbox.mailbox.rawPath) return inbox;
    const { exists, uidnext, highestmodseq } = await session.select(inbox.mailbox.rawPath ?? 'INBOX');
    // The server no longer reports a change that happened just before the mailbox was selected.
    if (this.#notifications.isActive) this.#noteNotification(false);
    const { seen } = inbox;
    this.#isInboxChanged ||=
      seen?.messages !== exists || seen.uidnext !== uidnext || seen.highestmodseq !== highestmodseq;
    return inbox;
  }

  /** Waits in IDLE on the inbox until something is to be done. */
  async #wait(): Promise<void> {
    const { session, times } = this.#parts;
    const inbox = await this.#selectInbox();
    if (this.#isInboxChanged || this.#areOperationsWanted || this.#isPollWanted) return;
    const canIdle = session.has('IDLE') && inbox !== undefined;
    const now = performance.now();
    const untilProbe = canIdle ? this.#nextProbe - now : Math.min(noIdleMilliseconds, this.#nextProbe - now);
    // The next command ends IDLE.
    if (canIdle) session.client.idle().catch(() => this.#wakeup.signal());
    const isSignalled = await this.#wakeup.wait(Math.max(0, Math.min(untilProbe, this.#pollDueAt - now)));
    if (isSignalled) return;
    this.#requireOpen();
    await session.probe(times.probeTimeoutMilliseconds);
    this.#nextProbe = performance.now() + times.probeMilliseconds;
  }
}
