/**
 * NOTIFY (RFC 5465): the server reports changes of all mailboxes on one connection. Changes of the selected mailbox are reported as
 * without NOTIFY, those of the others by STATUS, and new, renamed and deleted mailboxes by LIST. What the lines say is not used: they
 * only cause a poll of all mailboxes, as it happens regularly anyway.
 */
import type { SyncTimes } from './sync-services.ts';
import { isRefusal, type SyncSession } from './sync-session.ts';

/** What the library has no types for: commands that it does not know, and handlers of responses to no command. */
interface GenericConnection {
  exec(command: string, attributes: readonly unknown[]): Promise<{ next(): void }>;
  readonly untaggedHandlers: Record<string, () => Promise<void>>;
  readonly sectionHandlers: Record<string, () => Promise<void>>;
}

/** A change of the selected mailbox. */
export interface ReportedChange {
  readonly path: string;
  /** Whether it happened before the mailbox was selected. */
  readonly earlier?: boolean;
}

/** The notifications of one connection. */
export class MailboxNotifications {
  readonly #session: SyncSession;
  readonly #connection: GenericConnection;
  readonly #commandMilliseconds: number;
  readonly #onChange: () => void;
  #isActive = false;
  #isRefused = false;

  /**
   * @param times how long the server may take for a command.
   * @param onChange a mailbox that is not selected may have changed.
   */
  constructor(session: SyncSession, times: Pick<SyncTimes, 'commandMilliseconds'>, onChange: () => void) {
    this.#session = session;
    this.#connection = session.client as unknown as GenericConnection;
    this.#commandMilliseconds = times.commandMilliseconds;
    this.#onChange = onChange;
  }

  /** Whether the server has agreed to report changes of all mailboxes. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /**
   * Requests notifications, if the server offers them, or requests them again. After a refusal or an overflow they are
   * not requested again.
   */
  async begin(): Promise<void> {
    if (this.#isRefused || !this.#session.has('NOTIFY')) return;
    const { untaggedHandlers, sectionHandlers } = this.#connection;
    const report = async (): Promise<void> => {
      if (this.#isActive) this.#onChange();
    };
    untaggedHandlers['STATUS'] = report;
    untaggedHandlers['LIST'] = report;
    sectionHandlers['NOTIFICATIONOVERFLOW'] = async () => this.#handleOverflow();
    this.#isActive = await this.#set([selectedEvents, otherEvents]);
    this.#isRefused = !this.#isActive;
  }

  /** @returns whether the server has accepted the command. */
  async #set(groups: readonly unknown[]): Promise<boolean> {
    try {
      const command = this.#connection.exec('NOTIFY', [atom('SET'), ...groups]);
      const response = await this.#session.within(this.#commandMilliseconds, command);
      response.next();
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }

  /**
   * The server no longer reports anything, not even about the selected mailbox, until notifications are requested
   * again.
   */
  #handleOverflow(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    this.#isRefused = true;
    this.#onChange();
    // Not awaited, because the connection reads no reply before this method ends.
    this.#set([selectedEvents])
      .then((isAccepted) => isAccepted || this.#session.client.close())
      .catch(() => {}); // a lost connection shows at the next command
  }
}

const atom = (value: string): object => ({ type: 'ATOM', value });

const messageEvents = ['MessageNew', 'MessageExpunge', 'FlagChange'];
/** Without this group, the server would say nothing about the selected mailbox. Delayed: not during other commands. */
const selectedEvents = [atom('SELECTED-DELAYED'), messageEvents.map(atom)];
const otherEvents = [atom('PERSONAL'), [...messageEvents, 'MailboxName'].map(atom)];
