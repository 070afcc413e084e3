/**
 * `Idempotency-Key`: a repeated write is not executed again, and gets the reply of the first request. Replies are stored in
 * the application's database. The reply of a write with one transaction is stored in that transaction.
 */
import { hash } from 'node:crypto';
import { computeAccessFingerprint } from '../access/access-fingerprint.ts';
import type { Application } from '../applications/application.ts';
import { BlobStoreFault } from '../base/blob-store.ts';
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
import { containsSecret } from './contains-secret.ts';
import { type ActionResult, getRecordContext, type RequestContext } from './request-context.ts';

/** Identifies a request with an Idempotency-Key. */
export interface IdempotencyKey {
  readonly key: string;
  /** Hash of path, query, role and body: the same key with another request is refused. */
  readonly requestHash: string;
}

/**
 * Reads the header.
 *
 * @param url path and query as sent.
 * @throws ApiError 400 for an invalid key.
 */
export function readIdempotencyKey(
  header: string | string[],
  url: string,
  body: unknown,
  { role }: Caller,
): IdempotencyKey {
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header))
    throw new ApiError(
      'HEADER_INVALID',
      'The header "Idempotency-Key" must be 1 to 255 visible ASCII characters, and be sent once.',
    );
  return { key: header, requestHash: hash('sha256', JSON.stringify([url, role, body]), 'base64url') };
}

export interface ActionWriteOptions {
  /** Many rows: runs outside of the event loop. */
  readonly heavy?: boolean;
  readonly lockKey?: string | readonly string[];
  /** Time limit of all its statements together. */
  readonly totalMilliseconds?: number;
}

/** Runs a write and stores its reply in one transaction. @throws ApiError 400 for callers without a credential. */
export async function runIdempotentInTransaction(
  request: RequestContext,
  context: RecordContext,
  options: ActionWriteOptions,
  work: (tx: TransactionContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  const { application } = request;
  const replyKey = toReplyKey(request);
  if (replyKey === null)
    throw new ApiError(
      'HEADER_INVALID',
      request.caller.type === 'anonymous'
        ? 'The header "Idempotency-Key" needs a credential. Send the credential, or omit the header.'
        : 'The header "Idempotency-Key" needs an API key or a session, because this credential changes with each start of the server. Omit the header.',
    );
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
 * The stored reply of a request, for writes that read before their transaction what they delete: a draft that was sent no
 * longer exists when the request is repeated. Null if no reply is stored.
 */
export async function findStoredResult(request: RequestContext): Promise<ActionResult | null> {
  if (!request.idempotencyKey || request.tx || request.parameters()['dryRun'] !== undefined) return null;
  const replyKey = toReplyKey(request);
  const stored =
    replyKey && (await findReply(request.application.database, null, replyKey, oldestValidTime(request.application)));
  return stored ? replayResult(stored, request) : null;
}

/**
 * Runs a write with its own transactions: the key is claimed before, and the reply stored after. If the outcome of the first
 * request is unknown, a repeat is refused, because it may have been executed.
 */
export async function runIdempotentAcrossTransactions(
  request: RequestContext,
  work: (request: RequestContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  const { application } = request;
  const { database, clock } = application;
  const replyKey = toReplyKey(request);
  const withoutKey = { ...request, idempotencyKey: null };
  // Callers without a credential get a token or an e-mail, which must not be sent again.
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
 * Whether the request changed nothing: after a refusal, a conflict with a concurrent write, or a failure to store bytes, which are
 * stored before a record refers to them. The outcome of other faults is unknown.
 */
function hasChangedNothing(error: unknown): boolean {
  if (error instanceof ApiError) return error.label !== 'Internal Server Error';
  return (
    error instanceof BlobStoreFault ||
    error instanceof StaleVersion ||
    (error instanceof DatabaseFault && retriableFaults.has(error.kind))
  );
}

const retriableFaults: ReadonlySet<string> = new Set(['stale', 'collision']);

/** The key with its owner; null for callers without a credential, who cannot be distinguished. */
function toReplyKey({ idempotencyKey, caller }: RequestContext): ReplyKey | null {
  return caller.credentialId === null
    ? null
    : { credential: `${caller.type}:${caller.credentialId}`, key: idempotencyKey!.key };
}

function buildClaim(request: RequestContext): Pick<StoredReply, 'request' | 'accessFingerprint'> {
  return {
    request: request.idempotencyKey!.requestHash,
    accessFingerprint: computeAccessFingerprint(request.caller.role, getRecordContext(request).access),
  };
}

function replayResult(stored: StoredReply, request: RequestContext): ActionResult {
  const { request: requestHash, accessFingerprint } = buildClaim(request);
  if (stored.request !== requestHash)
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used for another request. Use a new key.', {
      details: { 'Idempotency-Key': 'This key belongs to a request with another path, query, role or body.' },
    });
  if (!stored.ended)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The outcome of an earlier request with this Idempotency-Key is unknown. If it is no longer running, check the data and retry with a new key.',
      { retryAfter: 5 },
    );
  if (stored.reply === null)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The request was executed. Its reply contains a secret or is too long to be stored. Check the data.',
    );
  if (stored.accessFingerprint !== accessFingerprint)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The request was executed. Its reply is not sent again, because the permissions of the role have changed since.',
    );
  return { ...(JSON.parse(stored.reply) as { data: string; meta?: object; counter?: number }), replayed: true };
}

function serialiseReply(result: ActionResult): string | null {
  if (!('data' in result)) return null;
  const { data, meta, counter } = result;
  if (data.length > limits.storedReplyBytes || containsSecret(data)) return null;
  return JSON.stringify({ data, meta, counter });
}

const runningKeys = new WeakMap<Application, Set<string>>();

/** Allows one running request for each key in this process. The database does the same for other servers. */
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
  return new ApiError('REQUEST_RUNNING', 'A request with this Idempotency-Key is still running. Try again later.', {
    retryAfter: 1,
  });
}

function oldestValidTime({ clock }: Application): string {
  return isoTime(clock.now() - limits.storedReplyMilliseconds);
}

const lastSweepTime = new WeakMap<Application, number>();
const sweepMilliseconds = 60_000;

/** Deletes expired replies after a write, at most once a minute. */
function sweepExpiredReplies(application: Application): void {
  const now = application.clock.now();
  if (now - (lastSweepTime.get(application) ?? 0) < sweepMilliseconds) return;
  lastSweepTime.set(application, now);
  void deleteExpiredReplies(application.database, oldestValidTime(application), limits.maxStoredReplies).catch(
    () => {},
  );
}
