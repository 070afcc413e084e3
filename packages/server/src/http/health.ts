/**
 * `/api/health` and `/live`: the process replies. `/ready`: it can also write. Only administrators get the reasons; other
 * callers only get the state.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Applications } from '../applications/applications.ts';
import type { ServerHealth } from '../base/server-health.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Callers } from './callers.ts';
import { apiVersion, jsonContentType } from './json-reply.ts';
import type { Replies } from './replies.ts';
import { readRequestId } from './request-head.ts';

export interface HealthParts {
  readonly applications: Applications;
  readonly health: ServerHealth;
  readonly callers: Callers;
  readonly replies: Replies;
  /** The number of reader threads; null if the server has none. */
  readonly readers: ReaderCount | null;
  /** The refusal while the server stops, or null. */
  readonly stopping: () => ApiError | null;
}

/** The threads that answer reads next to the main thread. */
export interface ReaderCount {
  readonly configured: number;
  readonly running: number;
  /** Requests that they have answered since the server started, and those that the main thread has answered for them. */
  readonly answered: number;
  readonly handedOver: number;
}

/** Requests are not limited: one probe serves all requests within this time. */
const probeCacheMilliseconds = 2000;
/** Time limit for the reply of the database. */
const timeoutMilliseconds = 3000;
const retrySeconds = 5;
const source = 'database';

/** Registers the health routes. */
export function registerHealth(fastify: FastifyInstance, parts: HealthParts): void {
  const startedAt = performance.now();
  const status = (): { status: string; uptime: number } => ({
    status: 'ok',
    uptime: Math.floor((performance.now() - startedAt) / 1000),
  });
  for (const path of ['/api/health', '/live'])
    fastify.get(path, (request, reply) => sendHealth(request, reply, status()));
  const readiness = new Readiness(parts);
  fastify.get('/ready', async (request, reply) => {
    try {
      const problems = await readiness.check(request);
      if (problems === null) return sendHealth(request, reply, status());
      return sendHealth(request, reply, { ...status(), ...describeReaders(parts.readers), problems });
    } catch (error) {
      return parts.replies.refuse(error, request, reply);
    }
  });
}

function describeReaders(count: ReaderCount | null): { readers?: ReaderCount } {
  if (count === null) return {};
  const { configured, running, answered, handedOver } = count;
  return { readers: { configured, running, answered, handedOver } };
}

function sendHealth(request: FastifyRequest, reply: FastifyReply, data: object): FastifyReply {
  return reply
    .header('content-type', jsonContentType)
    .headers({ 'cache-control': 'no-store', ...apiVersion, 'x-request-id': readRequestId(request) })
    .send(JSON.stringify({ data }));
}

class Readiness {
  readonly #parts: HealthParts;
  #probing: Promise<true> | null = null;
  #begunAt = 0;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: HealthParts) {
    this.#parts = parts;
  }

  /**
   * @returns for administrators the warnings; null for others.
   * @throws ApiError `STOPPING`, or `NOT_READY` with the reasons in `details` for an administrator.
   */
  async check(request: FastifyRequest): Promise<readonly object[] | null> {
    const { health, stopping } = this.#parts;
    const refusal = stopping();
    if (refusal) throw refusal;
    const [isAdmin] = await Promise.all([withTimeout(this.#isAdmin(request), false), this.#probe()]);
    const { problems } = health;
    if (health.canWrite) return isAdmin ? problems : null;
    const details = Object.fromEntries(problems.map((each) => [each.source, `${each.message} Since ${each.since}.`]));
    throw new ApiError('NOT_READY', 'The server cannot write at the moment; reads may still work.', {
      retryAfter: retrySeconds,
      ...(isAdmin && { details }),
    });
  }

  /** A fault of a write is reported by the store itself. */
  async #probe(): Promise<void> {
    const now = performance.now();
    if (now - this.#probedAt < probeCacheMilliseconds) return;
    this.#probing ??= this.#begin();
    // Requests during a slow probe do not wait for it again.
    if (now - this.#begunAt < timeoutMilliseconds && (await withTimeout(this.#probing, false))) return;
    this.#report('The database did not reply within three seconds.');
  }

  async #begin(): Promise<true> {
    const { database } = this.#parts.applications.main;
    this.#begunAt = performance.now();
    const problem = await database
      .probeWrite()
      .catch((error: unknown) => `The database cannot be used (${readErrorCode(error)}).`);
    this.#probedAt = performance.now();
    this.#probing = null;
    this.#report(problem);
    return true;
  }

  /**
   * In a store with one writing process, writes wait for each other, so a slow write is not a fault. Failed writes are
   * reported by the store.
   */
  #report(problem: string | null): void {
    const { applications, health } = this.#parts;
    if (!applications.main.database.multiNode) return;
    health.set(source, problem === null ? null : { severity: 'failing', message: problem });
  }

  /** Also false if it cannot be determined: the state is sent anyway. */
  async #isAdmin(request: FastifyRequest): Promise<boolean> {
    const { applications, callers } = this.#parts;
    if (request.headers.authorization === undefined) return false;
    const { main } = applications;
    const lease = await applications.find(undefined);
    try {
      await main.ensureCurrent();
      const address = callers.readClientAddress(request);
      const caller = await callers.authenticate(request, lease, address);
      callers.count(lease, caller, address);
      return main.recordContext(caller, null).access.roles.get(caller.role)?.allowConfigure ?? false;
    } catch {
      return false;
    } finally {
      lease.release();
    }
  }
}

/** The result of a promise, or the fallback after the time limit. */
async function withTimeout(work: Promise<boolean>, fallback: boolean): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(fallback), timeoutMilliseconds);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** The error code of the operating system or engine, else the message. */
function readErrorCode(error: unknown): string {
  const { code, cause, message } = (error ?? {}) as { code?: unknown; cause?: unknown; message?: string };
  if (typeof code === 'string') return code;
  return cause instanceof Error ? readErrorCode(cause) : (message ?? 'no reason given');
}
