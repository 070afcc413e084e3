/**
 * Events as they come, over one WebSocket for all subscriptions. A connection that is lost comes back by itself, and each
 * subscription goes on from the cursor of its last event: nothing is missed, and what cannot be made up for is told by
 * `resync`.
 */

import type { Event, Filter } from './dto.ts';
import { Failure } from './failure.ts';

export interface RealtimeOptions {
  /** Where the server is, without `/api`; in a browser the page's own origin unless told. */
  readonly url?: string;
  readonly application?: string;
  readonly token: () => string | null;
  readonly role?: () => string | null;
}

export interface SubscribeOptions {
  /** A collection, or the first word of published events. */
  readonly resource: string;
  readonly filter?: Filter;
  /** Events carry the record as a get would show it. */
  readonly values?: boolean;
  /** Where to go on; from now on unless told. */
  readonly since?: string;
}

export interface Listener {
  /** Something happened. */
  event?(event: Event): void;
  /** Events up to here are lost: read again; what comes follows on that. */
  resync?(): void;
  /** Listening, from this cursor on: what was read before may miss what happened in between. */
  subscribed?(cursor: string): void;
  /** The subscription was refused. */
  refused?(failure: Failure): void;
}

export type RealtimeState = 'idle' | 'connecting' | 'open' | 'waiting' | 'unauthorised';

interface Subscription {
  readonly id: string;
  readonly options: SubscribeOptions;
  readonly listener: Listener;
  cursor: string | null;
}

/** What the server says. */
type ServerMessage =
  | { readonly type: 'authenticated' }
  | { readonly type: 'subscribed' | 'resync'; readonly id: string; readonly cursor: string }
  | { readonly type: 'unsubscribed'; readonly id: string }
  | { readonly type: 'event'; readonly id: string; readonly event: Event }
  | { readonly type: 'error'; readonly id?: string; readonly message: string; readonly code: never };

const invalidCredentialCloseCode = 4401;
const maxReconnectDelay = 30_000;
/** After the last subscription the connection stays for a moment: the next page may want it. */
const lingerMilliseconds = 3000;

export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #subscriptions = new Map<string, Subscription>();
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

  /** Tells of every change of the state. @returns what ends it. */
  watch(watcher: (state: RealtimeState) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** @returns what ends the subscription; with the last one the connection is closed, after a moment. */
  subscribe(options: SubscribeOptions, listener: Listener): () => void {
    clearTimeout(this.#retire);
    this.#last += 1;
    const subscription: Subscription = { id: `s${this.#last}`, options, listener, cursor: options.since ?? null };
    this.#subscriptions.set(subscription.id, subscription);
    if (this.#state === 'open') this.#ask(subscription);
    else this.connect();
    return () => this.#end(subscription.id);
  }

  /** At once, instead of after the pause: a new token is there, or the network is back. */
  connect(): void {
    if (this.#socket || this.#subscriptions.size === 0) return;
    clearTimeout(this.#retry);
    this.#become('connecting');
    const base = this.#options.url ?? (globalThis as { location?: { origin: string } }).location?.origin ?? '';
    const socket = new WebSocket(`${base.replace(/^http/, 'ws').replace(/\/$/, '')}/api/realtime`);
    this.#socket = socket;
    const isCurrent = (): boolean => this.#socket === socket;
    socket.onopen = () => isCurrent() && this.#introduce();
    socket.onmessage = ({ data }) => isCurrent() && this.#hear(JSON.parse(String(data)) as ServerMessage);
    socket.onclose = ({ code }) => this.#lost(socket, code);
    socket.onerror = () => {}; // the close that follows says it all
  }

  /**
   * Anew, where nobody knows whether the connection still lives: the machine slept, or the network is another one. Each
   * subscription goes on from its last event.
   */
  reconnect(): void {
    const previous = this.#socket;
    this.#socket = null;
    previous?.close();
    if (this.#subscriptions.size === 0) this.#leave();
    else this.connect();
  }

  /** Ends every subscription and the connection. */
  close(): void {
    this.#subscriptions.clear();
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

  #hear(message: ServerMessage): void {
    if (message.type === 'authenticated') {
      this.#failures = 0;
      this.#become('open');
      for (const each of this.#subscriptions.values()) this.#ask(each);
      return;
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

  #end(id: string): void {
    if (!this.#subscriptions.delete(id)) return;
    if (this.#subscriptions.size === 0) this.#retire = setTimeout(() => this.#leave(), lingerMilliseconds);
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
