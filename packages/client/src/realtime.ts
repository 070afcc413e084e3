/**
 * Realtime events over one WebSocket for all subscriptions. A lost connection is reopened automatically, and each
 * subscription continues from the cursor of its last event. If events were lost, `resync` is emitted.
 */

import type { Event, Filter, Key } from './dto.ts';
import { Failure } from './failure.ts';

export interface RealtimeOptions {
  /** The address of the server, without `/api`. Default in a browser: the origin of the page. */
  readonly url?: string;
  readonly application?: string;
  readonly token: () => string | null;
  readonly role?: () => string | null;
}

export interface SubscribeOptions {
  /** A collection, or the first word of the name of published events. */
  readonly resource: string;
  readonly filter?: Filter;
  /** Whether events include the record as a `get` would show it. */
  readonly values?: boolean;
  /** The cursor to continue from. Default: only new events. */
  readonly since?: string;
}

export interface Listener {
  event?(event: Event): void;
  /** Events before this cursor were lost: reload. Later events follow. */
  resync?(): void;
  /** The subscription begins at this cursor. Data that was read before may lack changes in between. */
  subscribed?(cursor: string): void;
  /** The subscription was refused. */
  refused?(failure: Failure): void;
}

/** What a user does with a record that is open. */
export type PresenceActivity = 'viewing' | 'editing';

/** Another user who has the same record open. */
export interface PresentUser {
  readonly userId: number;
  readonly name: string;
  readonly activity: PresenceActivity;
}

/** An announcement that the user has a record open. */
export interface Presence {
  setActivity(activity: PresenceActivity): void;
  end(): void;
}

interface PresenceView {
  readonly id: string;
  readonly resource: string;
  readonly key: Key;
  activity: PresenceActivity;
  readonly listener: (present: readonly PresentUser[]) => void;
}

export type RealtimeState = 'idle' | 'connecting' | 'open' | 'waiting' | 'unauthorised';

interface Subscription {
  readonly id: string;
  readonly options: SubscribeOptions;
  readonly listener: Listener;
  cursor: string | null;
}

/** A message of the server. */
type ServerMessage =
  | { readonly type: 'authenticated' }
  | { readonly type: 'subscribed' | 'resync'; readonly id: string; readonly cursor: string }
  | { readonly type: 'unsubscribed'; readonly id: string }
  | { readonly type: 'presence'; readonly id: string; readonly present: readonly PresentUser[] }
  | { readonly type: 'event'; readonly id: string; readonly event: Event }
  | { readonly type: 'error'; readonly id?: string; readonly message: string; readonly code: never };

const invalidCredentialCloseCode = 4401;
const maxReconnectDelay = 30_000;
/** After the last subscription ends, the connection stays open briefly: the next page may need it. */
const lingerMilliseconds = 3000;

export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #views = new Map<string, PresenceView>();
  readonly #watchers = new Set<(state: RealtimeState) => void>();
  #socket: WebSocket | null = null;
  #state: RealtimeState = 'idle';
  #failures = 0;
  #last = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #retire: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RealtimeOptions) {
    this.#options = options;
  }

  get state(): RealtimeState {
    return this.#state;
  }

  /** Calls a listener for every change of the state. @returns a function that unsubscribes it. */
  watch(watcher: (state: RealtimeState) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** @returns a function that ends the subscription. After the last one, the connection is closed with a delay. */
  subscribe(options: SubscribeOptions, listener: Listener): () => void {
    clearTimeout(this.#retire);
    this.#last += 1;
    const subscription: Subscription = { id: `s${this.#last}`, options, listener, cursor: options.since ?? null };
    this.#subscriptions.set(subscription.id, subscription);
    if (this.#state === 'open') this.#ask(subscription);
    else this.connect();
    return () => this.#end(subscription.id);
  }

  /**
   * Announces that the user has a record open, until `end` is called. The listener receives the other users who have it open, as far
   * as they may get the record too; without a connection, nobody.
   */
  announce(
    resource: string,
    key: Key,
    activity: PresenceActivity,
    listener: (present: readonly PresentUser[]) => void,
  ): Presence {
    clearTimeout(this.#retire);
    this.#last += 1;
    const view: PresenceView = { id: `p${this.#last}`, resource, key, activity, listener };
    this.#views.set(view.id, view);
    if (this.#state === 'open') this.#sendPresence(view);
    else this.connect();
    return {
      setActivity: (next) => {
        if (view.activity === next || !this.#views.has(view.id)) return;
        view.activity = next;
        if (this.#state === 'open') this.#sendPresence(view);
      },
      end: () => this.#end(view.id),
    };
  }

  /** Reconnects now instead of after the pause, for example because of a new token or a restored network. */
  connect(): void {
    if (this.#socket || this.#isUnused) return;
    clearTimeout(this.#retry);
    this.#become('connecting');
    const base = this.#options.url ?? (globalThis as { location?: { origin: string } }).location?.origin ?? '';
    const socket = new WebSocket(`${base.replace(/^http/, 'ws').replace(/\/$/, '')}/api/realtime`);
    this.#socket = socket;
    const isCurrent = (): boolean => this.#socket === socket;
    socket.onopen = () => isCurrent() && this.#introduce();
    socket.onmessage = ({ data }) => isCurrent() && this.#receive(JSON.parse(String(data)) as ServerMessage);
    socket.onclose = ({ code }) => this.#lost(socket, code);
    socket.onerror = () => {}; // the close event that follows reports it
  }

  /**
   * Reopens a connection that may be dead, for example after sleep or a change of the network. Each subscription continues
   * after its last event.
   */
  reconnect(): void {
    const previous = this.#socket;
    this.#socket = null;
    previous?.close();
    if (this.#isUnused) this.#leave();
    else this.connect();
  }

  /** Ends every subscription and the connection. */
  close(): void {
    this.#subscriptions.clear();
    this.#views.clear();
    this.#leave();
  }

  #introduce(): void {
    const { application, token, role } = this.#options;
    const acting = role?.();
    this.#send({
      type: 'authenticate',
      token: token() ?? '',
      ...(application && { app: application }),
      ...(acting && { role: acting }),
    });
  }

  #receive(message: ServerMessage): void {
    if (message.type === 'authenticated') {
      this.#failures = 0;
      this.#become('open');
      for (const each of this.#subscriptions.values()) this.#ask(each);
      for (const each of this.#views.values()) this.#sendPresence(each);
      return;
    }
    if (message.type === 'presence') {
      this.#views.get(message.id)?.listener(message.present);
      return;
    }
    // A user who may not get the record any more sees nobody.
    const view = this.#views.get(message.id ?? '');
    if (view && message.type === 'error') {
      this.#views.delete(view.id);
      view.listener([]);
    }
    const subscription = this.#subscriptions.get(message.id ?? '');
    if (!subscription) return;
    if (message.type === 'error') {
      this.#subscriptions.delete(subscription.id);
      subscription.listener.refused?.(new Failure(0, message));
    } else if (message.type === 'event') {
      subscription.cursor = message.event.cursor;
      subscription.listener.event?.(message.event);
    } else if (message.type !== 'unsubscribed') {
      const first = subscription.cursor === null;
      if (first || message.type === 'resync') subscription.cursor = message.cursor;
      if (message.type === 'resync') subscription.listener.resync?.();
      else subscription.listener.subscribed?.(message.cursor);
    }
  }

  #ask({ id, options, cursor }: Subscription): void {
    this.#send({ type: 'subscribe', id, ...options, ...(cursor !== null && { since: cursor }) });
  }

  #sendPresence({ id, resource, key: tk, activity }: PresenceView): void {
    this.#send({ type: 'present', id, resource, tk, activity });
  }

  get #isUnused(): boolean {
    return this.#subscriptions.size + this.#views.size === 0;
  }

  #end(id: string): void {
    if (!this.#subscriptions.delete(id) && !this.#views.delete(id)) return;
    if (this.#isUnused) this.#retire = setTimeout(() => this.#leave(), lingerMilliseconds);
    if (this.#state === 'open') this.#send({ type: 'unsubscribe', id });
  }

  #leave(): void {
    clearTimeout(this.#retry);
    clearTimeout(this.#retire);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#become('idle');
  }

  #lost(socket: WebSocket, code: number): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#become(code === invalidCredentialCloseCode ? 'unauthorised' : 'waiting');
    if (code === invalidCredentialCloseCode) return;
    for (const { listener } of this.#views.values()) listener([]);
    this.#failures += 1;
    const pause = Math.min(maxReconnectDelay, 250 * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#retry = setTimeout(() => this.connect(), pause);
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #become(state: RealtimeState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const watcher of this.#watchers) watcher(state);
  }
}
