/**
 * `Idempotency-Key`: a write that is asked for again is not done again, and gets the reply of the first time. Replies lie
 * in the application's store. Where a write is one transaction its reply is kept in it, so that no crash comes between.
 */
import { hash } from 'node:crypto';
import { computeAccessFingerprint } from '../access/access-fingerprint.ts';
import type { Application } from '../applications/application.ts';
import { isoTime } from '../base/clock.ts';
import { DatabaseFault, StaleVersion } from '../database/database.ts';
import {
  completeReply,
  deleteExpiredReplies,
  deleteReply,
  findReply,
  insertReply,
  type ReplyKey,
  type StoredReply,
  tryLockReplyKey,
} from '../database/idempotency-rows.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../records/record-context.ts';
import { type ActionResult, getRecordContext, type RequestContext } from './request-context.ts';

/** What a request with an Idempotency-Key is known by. */
export interface IdempotencyKey {
  readonly key: string;
  /** Hash of path, query, role and body: the same key for another request is refused. */
  readonly requestHash: string;
}

/**
 * Reads the header.
 *
 * @param url path and query as they were sent.
 * @throws ApiError 400 for what is no key.
 */
export function readIdempotencyKey(
  header: string | string[],
  url: string,
  body: unknown,
  { role }: Caller,
): IdempotencyKey {
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header))
    throw new ApiError('HEADER_INVALID', 'Idempotency-Key takes 1 to 255 visible ASCII characters, given once.');
  return { key: header, requestHash: hash('sha256', JSON.stringify([url, role, body]), 'base64url') };
}

export interface ActionWriteOptions {
  /** Many rows: runs off the event loop. */
  readonly heavy?: boolean;
  readonly lockKey?: string | readonly string[];
  /** Milliseconds for all its statements together. */
  readonly totalMilliseconds?: number;
}

/** Runs a write and keeps its reply in one transaction. @throws ApiError 400 for callers without a credential. */
export async function runIdempotentInTransaction(
  request: RequestContext,
  context: RecordContext,
  options: ActionWriteOptions,
  work: (tx: TransactionContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  const { application } = request;
  const replyKey = toReplyKey(request);
  if (replyKey === null)
    throw new ApiError('HEADER_INVALID', 'Idempotency-Key needs a credential: replies are kept for who may read them.');
  return withKeyLock(application, replyKey, async () => {
    const result = await inTransaction(
      context,
      async (tx) => {
        const { database, tx: transaction } = tx;
        if (!(await tryLockReplyKey(database, transaction, replyKey))) throw requestRunningError();
        const stored = await findReply(database, transaction, replyKey, oldestValidTime(application));
        if (stored) return replayResult(stored, request);
        const actionResult = await work(tx);
        const entry = { ...buildClaim(request), ended: true, reply: serialiseReply(actionResult) };
        await insertReply(database, transaction, replyKey, { ...entry, storedAt: isoTime(tx.clock.now()) });
        return actionResult;
      },
      options,
    );
    sweepExpiredReplies(application);
    return result;
  });
}

/**
 * The reply that is kept for a request, for writes that look at something before their transaction which they take away:
 * a draft that was sent is there no more when its sending is asked for again. Null where nothing is kept.
 */
export async function findStoredResult(request: RequestContext): Promise<ActionResult | null> {
  if (!request.idempotencyKey || request.tx || request.parameters()['dryRun'] !== undefined) return null;
  const replyKey = toReplyKey(request);
  const stored =
    replyKey && (await findReply(request.application.database, null, replyKey, oldestValidTime(request.application)));
  return stored ? replayResult(stored, request) : null;
}

/**
 * Runs a write that has transactions of its own: the key is taken before, and the reply kept after. A request whose end was
 * never heard of stays unanswered: it may have been done.
 */
export async function runIdempotentAcrossTransactions(
  request: RequestContext,
  work: (request: RequestContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  const { application } = request;
  const { database, clock } = application;
  const replyKey = toReplyKey(request);
  const withoutKey = { ...request, idempotencyKey: null };
  // Whoever has no credential yet gets a token here or a mail: nothing that could be handed out again.
  if (replyKey === null || request.parameters()['dryRun'] === 'true') return work(withoutKey);
  return withKeyLock(application, replyKey, async () => {
    const stored = await database.write(
      async (transaction) => {
        const found = await findReply(database, transaction, replyKey, oldestValidTime(application));
        if (!found)
          await insertReply(database, transaction, replyKey, {
            ...buildClaim(request),
            storedAt: isoTime(clock.now()),
            ended: false,
            reply: null,
          });
        return found;
      },
      { lockKey: `reply ${replyKey.credential} ${replyKey.key}` },
    );
    if (stored) return replayResult(stored, request);
    let result: ActionResult;
    try {
      result = await work(withoutKey);
    } catch (error) {
      if (hasChangedNothing(error)) await database.write((transaction) => deleteReply(database, transaction, replyKey));
      throw error;
    }
    await database.write((transaction) => completeReply(database, transaction, replyKey, serialiseReply(result)));
    sweepExpiredReplies(application);
    return result;
  });
}

/**
 * What was refused may be asked again, and what others were faster than is run again at once. Of other faults nobody knows
 * what they left.
 */
function hasChangedNothing(error: unknown): boolean {
  if (error instanceof ApiError) return error.label !== 'Internal Server Error';
  return error instanceof StaleVersion || (error instanceof DatabaseFault && retriableFaults.has(error.kind));
}

const retriableFaults: ReadonlySet<string> = new Set(['stale', 'collision']);

/** The key beside whose it is; null for callers without a credential, who cannot be told apart. */
function toReplyKey({ idempotencyKey, caller }: RequestContext): ReplyKey | null {
  return caller.credentialId === null
    ? null
    : { credential: `${caller.type}:${caller.credentialId}`, key: idempotencyKey!.key };
}

function buildClaim(request: RequestContext): Pick<StoredReply, 'request' | 'power'> {
  return {
    request: request.idempotencyKey!.requestHash,
    power: computeAccessFingerprint(request.caller.role, getRecordContext(request).access),
  };
}

function replayResult(stored: StoredReply, request: RequestContext): ActionResult {
  const { request: requestHash, power: accessFingerprint } = buildClaim(request);
  if (stored.request !== requestHash)
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used for another request; take a new one.', {
      details: { 'Idempotency-Key': 'This key belongs to a request with another path, query, role or body.' },
    });
  if (!stored.ended)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'A request with this Idempotency-Key was begun, and its end is not known: if it does not run any more, look what is there, and take a new key.',
      { retryAfter: 5 },
    );
  if (stored.reply === null)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The request was done; its reply holds a secret or is too long to be kept. Look what is there.',
    );
  if (stored.power !== accessFingerprint)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The request was done; since then the permissions of the role have changed, and its reply is not shown again.',
    );
  return { ...(JSON.parse(stored.reply) as { data: string; meta?: object; counter?: number }), replayed: true };
}

/** Whether a reply holds a token of this server or a secret of a webhook: such a reply is neither stored nor compressed. */
export function containsSecret(text: string): boolean {
  return secretPattern.test(text);
}

const secretPattern = /\btb[a-z]_[0-9A-Za-z]{40,}|\bwhsec_/;

function serialiseReply(result: ActionResult): string | null {
  if (!('data' in result)) return null;
  const { data, meta, counter } = result;
  if (data.length > limits.storedReplyBytes || containsSecret(data)) return null;
  return JSON.stringify({ data, meta, counter });
}

const runningKeys = new WeakMap<Application, Set<string>>();

/** One request under a key at a time in this process; other nodes are kept off by the store. */
async function withKeyLock<T>(
  application: Application,
  { credential, key }: ReplyKey,
  work: () => Promise<T>,
): Promise<T> {
  const keys = runningKeys.get(application) ?? new Set();
  runningKeys.set(application, keys);
  const lockKey = `${credential} ${key}`;
  if (keys.has(lockKey)) throw requestRunningError();
  keys.add(lockKey);
  try {
    return await work();
  } finally {
    keys.delete(lockKey);
  }
}

function requestRunningError(): ApiError {
  return new ApiError('REQUEST_RUNNING', 'A request with this Idempotency-Key is still running; ask again later.', {
    retryAfter: 1,
  });
}

function oldestValidTime({ clock }: Application): string {
  return isoTime(clock.now() - limits.storedReplyMilliseconds);
}

const lastSweepTime = new WeakMap<Application, number>();
const sweepMilliseconds = 60_000;

/** Beside the replies, once a minute at most; what is left over is found the next time. */
function sweepExpiredReplies(application: Application): void {
  const now = application.clock.now();
  if (now - (lastSweepTime.get(application) ?? 0) < sweepMilliseconds) return;
  lastSweepTime.set(application, now);
  void deleteExpiredReplies(application.database, oldestValidTime(application), limits.maxStoredReplies).catch(
    () => {},
  );
}
