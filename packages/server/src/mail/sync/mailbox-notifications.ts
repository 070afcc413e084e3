/**
 * NOTIFY (RFC 5465): the server reports changes of all mailboxes on one connection. Changes of the selected mailbox are
 * reported as without NOTIFY, those of the others by STATUS, and new, renamed and deleted mailboxes by LIST.
 */
import { fromModifiedUtf7 } from '../connect/modified-utf7.ts';
import type { MailboxStatus } from './server-mailboxes.ts';
import type { SyncTimes } from './sync-services.ts';
import { isRefusal, type SyncSession } from './sync-session.ts';

/** What the server reports. */
export interface NotificationHandler {
  /** A mailbox that is not selected has changed. @param counters those that the server has named. */
  onStatus(path: string, counters: Partial<MailboxStatus>): void;
  /** The list of mailboxes has changed, or the server has stopped to report changes. */
  onList(): void;
}

/** A parsed token of a response. */
interface Token {
  readonly value?: unknown;
}

interface UntaggedLine {
  readonly attributes?: readonly (Token | readonly Token[] | null)[];
}

/** What the library has no types for: commands that it does not know, and handlers of responses to no command. */
interface GenericConnection {
  exec(command: string, attributes: readonly unknown[]): Promise<{ next(): void }>;
  readonly untaggedHandlers: Record<string, (line: UntaggedLine) => Promise<void>>;
  readonly sectionHandlers: Record<string, () => Promise<void>>;
}

/** The notifications of one connection. */
export class MailboxNotifications {
  readonly #session: SyncSession;
  readonly #connection: GenericConnection;
  readonly #handler: NotificationHandler;
  readonly #commandMilliseconds: number;
  #isActive = false;
  #isProven = false;

  /** @param times how long the server may take for a command. */
  constructor(session: SyncSession, times: Pick<SyncTimes, 'commandMilliseconds'>, handler: NotificationHandler) {
    this.#session = session;
    this.#commandMilliseconds = times.commandMilliseconds;
    this.#connection = session.client as unknown as GenericConnection;
    this.#handler = handler;
  }

  /** Whether the server has agreed to report changes of all mailboxes. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Whether the server has reported a change on this connection. Some servers agree and stay silent. */
  get isProven(): boolean {
    return this.#isActive && this.#isProven;
  }

  /** Asks the server for notifications, if it offers them. A refusal changes nothing. */
  async begin(): Promise<void> {
    if (!this.#session.has('NOTIFY')) return;
    const { untaggedHandlers, sectionHandlers } = this.#connection;
    untaggedHandlers['STATUS'] = async ({ attributes = [] }) => this.#handleStatus(attributes);
    untaggedHandlers['LIST'] = async () => {
      if (this.#isActive) this.#handler.onList();
    };
    sectionHandlers['NOTIFICATIONOVERFLOW'] = async () => this.#handleOverflow();
    this.#isActive = await this.#set([selectedEvents, otherEvents]);
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

  #handleStatus([name, list]: NonNullable<UntaggedLine['attributes']>): void {
    if (!this.#isActive || !isToken(name)) return;
    const path = this.#readPath(name.value);
    if (path === null) return;
    this.#isProven = true;
    this.#handler.onStatus(path.toUpperCase() === 'INBOX' ? 'INBOX' : path, readCounters(list));
  }

  #readPath(name: unknown): string | null {
    // Dovecot reports names in UTF-8 as literals, which the library does not decode.
    if (Buffer.isBuffer(name)) return name.toString();
    if (typeof name !== 'string') return null;
    const { enabled } = this.#session.client;
    return enabled.has('UTF8=ACCEPT') || enabled.has('IMAP4REV2') ? name : fromModifiedUtf7(name);
  }

  /** The server reports nothing any more, also not about the selected mailbox, until it is asked again. */
  #handleOverflow(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    this.#handler.onList();
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

const isToken = (each: Token | readonly Token[] | null | undefined): each is Token =>
  typeof each === 'object' && each !== null && !Array.isArray(each);

const counterNames: Readonly<Record<string, keyof MailboxStatus>> = {
  MESSAGES: 'messages',
  UIDNEXT: 'uidnext',
  UIDVALIDITY: 'uidvalidity',
  UNSEEN: 'unseen',
  HIGHESTMODSEQ: 'highestmodseq',
};
const textCounters: ReadonlySet<string> = new Set(['uidvalidity', 'highestmodseq']);

/** The counters of a STATUS line: names and values in turn. What is no number is left out. */
function readCounters(list: Token | readonly Token[] | null | undefined): Partial<MailboxStatus> {
  if (!Array.isArray(list)) return {};
  const counters: [string, string | number][] = [];
  for (let index = 0; index + 1 < list.length; index += 2) {
    const name = counterNames[String(list[index]?.value).toUpperCase()];
    const text = String(list[index + 1]?.value);
    if (name !== undefined && /^\d{1,20}$/.test(text))
      counters.push([name, textCounters.has(name) ? BigInt(text).toString() : Number(text)]);
  }
  return Object.fromEntries(counters);
}
