/**
 * One WebSocket. The client must authenticate within ten seconds, and can then subscribe. Messages are processed one after
 * another; a client that sends faster is not read meanwhile.
 */
import type { WebSocket } from 'ws';
import type { Lease } from '../applications/application-lease.ts';
import type { Applications } from '../applications/applications.ts';
import type { Logger } from '../base/logger.ts';
import { withRole } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type CloseReason, Connection, type EventTransport } from '../realtime/connection.ts';
import type { RateLimits } from './rate-limits.ts';
import { type ClientMessage, MessageRefused, parseMessage, toErrorMessage } from './realtime-message.ts';

export const closeCodes = { credential: 4401, origin: 4403, slow: 4408, restart: 1012 } as const;

export interface SocketContext {
  readonly applications: Applications;
  readonly logger: Logger;
  readonly address: string;
  readonly limits: RateLimits;
  /** Counts the socket for its credential until it is closed. @throws ApiError if the limit of the credential is reached. */
  acquireShare(credential: string): void;
}

const authenticateMilliseconds = 10_000;
/** Maximum number of waiting messages; above it, the socket is not read. */
const maxWaitingMessages = 16;
/** How long the close message to a slow reader may take. */
const slowCloseMilliseconds = 5000;

/** One WebSocket connection. */
export class RealtimeSocket implements EventTransport {
  readonly #socket: WebSocket;
  readonly #context: SocketContext;
  /** Runs until the client is authenticated. */
  #patience: NodeJS.Timeout | null;
  #connection: Connection | null = null;
  #application = '';
  #waiting = 0;
  #turn: Promise<void> = Promise.resolve();
  #alive = true;

  constructor(socket: WebSocket, context: SocketContext) {
    this.#socket = socket;
    this.#context = context;
    this.#patience = setTimeout(() => this.end('credential'), authenticateMilliseconds);
    socket.on('message', (data, isBinary) => this.#enqueue(isBinary ? null : String(data)));
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('error', () => {}); // a close event follows
    socket.once('close', () => {
      this.#endPatience();
      this.#connection?.end(null);
    });
  }

  get buffered(): number {
    return this.#socket.bufferedAmount;
  }

  event(id: string, _: string, text: string): void {
    if (this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(`{"type":"event","id":${JSON.stringify(id)},"event":${text}}`);
  }

  resync(id: string, cursor: string): void {
    this.#send({ type: 'resync', id, cursor });
  }

  rejectSubscription(id: string | null, error: ApiError): void {
    this.#send({ type: 'error', ...(id !== null && { id }), ...toErrorMessage(error) });
  }

  end(reason: CloseReason): void {
    this.#socket.close(closeCodes[reason]);
    const timer = setTimeout(() => this.#socket.terminate(), slowCloseMilliseconds).unref();
    this.#socket.once('close', () => clearTimeout(timer));
  }

  /** Resolves when the socket is closed. A socket that does not respond is terminated. */
  async closeAndWait(reason: CloseReason, milliseconds: number): Promise<void> {
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#socket.terminate(), milliseconds);
      this.#socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      if (this.#connection) this.#connection.end(reason);
      else this.end(reason);
    });
  }

  /** Checks with a ping whether the client is still connected. */
  checkAlive(): void {
    if (this.#alive) this.#socket.ping();
    else this.#socket.terminate();
    this.#alive = false;
  }

  /** @param text null for a binary message. */
  #enqueue(text: string | null): void {
    this.#waiting += 1;
    if (this.#waiting === maxWaitingMessages) this.#socket.pause();
    this.#turn = this.#turn.then(async () => {
      await this.#take(text);
      this.#waiting -= 1;
      if (this.#waiting === 0 && this.#socket.isPaused) this.#socket.resume();
    });
  }

  async #take(text: string | null): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    let id: string | null = null;
    try {
      this.#count();
      const message = parseMessage(text ?? '');
      if (message.type !== 'authenticate') id = message.id;
      await this.#answer(message);
    } catch (error) {
      this.#refuse(id, error);
    }
  }

  async #answer(message: ClientMessage): Promise<void> {
    if (message.type === 'authenticate') return this.#authenticate(message);
    const connection = this.#connection;
    if (!connection) throw new ApiError('TOKEN_MISSING', 'Unauthorized: invalid or missing token. Authenticate first.');
    const { id } = message;
    if (message.type === 'subscribe')
      return connection.subscribe(id, message.subscription, (cursor, resync) => {
        this.#send({ type: 'subscribed', id, cursor });
        if (resync) this.resync(id, cursor);
      });
    if (message.type === 'present')
      return connection.presence.announce(id, message.presence, (present) =>
        this.#send({ type: 'presence', id, present }),
      );
    if (!connection.unsubscribe(id))
      throw new ApiError('PARAMETER_INVALID', `There is no subscription "${id.slice(0, 60)}".`);
    this.#send({ type: 'unsubscribed', id });
  }

  async #authenticate({ token, app, role }: Extract<ClientMessage, { type: 'authenticate' }>): Promise<void> {
    if (this.#connection) throw new ApiError('BODY_INVALID', 'The connection is already authenticated.');
    const lease = await this.#context.applications.find(app);
    try {
      const caller = await this.#proven(lease, token, role);
      if (lease.error) throw lease.error;
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      const { limits, acquireShare } = this.#context;
      limits.countCredential(lease.application.name, caller);
      acquireShare(`${lease.application.name} ${caller.type} ${caller.credentialId}`);
      this.#endPatience();
      this.#application = lease.application.name;
      this.#send({ type: 'authenticated' });
      this.#connection = new Connection(lease.duplicate(), this, caller, { token, role });
    } finally {
      lease.release();
    }
  }

  #endPatience(): void {
    if (this.#patience) clearTimeout(this.#patience);
    this.#patience = null;
  }

  async #proven({ application }: Lease, token: string, role: string | undefined): Promise<Caller> {
    try {
      return await application.withCurrentSnapshot(async () => {
        await application.ensureCurrent();
        return withRole(await application.authenticator.authenticate(token), role);
      });
    } catch (error) {
      // Guesses of tokens have the limit of callers without a credential.
      if (error instanceof ApiError && error.label === 'Unauthorized')
        this.#context.limits.countAnonymous(this.#context.address);
      throw error;
    }
  }

  /** A message counts as a request. */
  #count(): void {
    const caller = this.#connection?.caller;
    if (caller) this.#context.limits.countCredential(this.#application, caller);
  }

  /** A client that is not authenticated has one attempt. */
  #refuse(id: string | null, error: unknown): void {
    if (error instanceof MessageRefused) this.rejectSubscription(error.id, error.error);
    else if (error instanceof ApiError) this.rejectSubscription(id, error);
    else {
      this.#context.logger.error({ err: error }, 'A message on a socket failed.');
      this.rejectSubscription(id, new ApiError('INTERNAL', 'The server failed unexpectedly.'));
    }
    if (!this.#connection) this.end('credential');
  }

  #send(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
