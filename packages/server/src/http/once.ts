/**
 * `Idempotency-Key`: a write that is asked for again is not done again, and gets the reply of the first time. Replies lie
 * in the application's store. Where a write is one transaction its reply is kept in it, so that no crash comes between.
 */
import { hash } from 'node:crypto';
import { powerOf } from '../access/power.ts';
import type { Application } from '../applications/application.ts';
import { isoTime } from '../base/clock.ts';
import { DatabaseFault, StaleVersion } from '../database/database.ts';
import {
  deleteReply,
  endReply,
  findReply,
  insertReply,
  type KeptReply,
  type ReplyKey,
  sweepReplies,
  tryKey,
} from '../database/kept-replies.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { type RecordContext, together } from '../records/record-context.ts';
import { type Answer, type Call, contextOf } from './call.ts';

/** What a request with an Idempotency-Key is known by. */
export interface Once {
  readonly key: string;
  /** Hash of path, query, role and body: the same key for another request is refused. */
  readonly request: string;
}

/**
 * Reads the header.
 *
 * @param url path and query as they were sent.
 * @throws ApiError 400 for what is no key.
 */
export function onceOf(header: string | string[], url: string, body: unknown, { role }: Caller): Once {
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header))
    throw new ApiError('HEADER_INVALID', 'Idempotency-Key takes 1 to 255 visible ASCII characters, given once.');
  return { key: header, request: hash('sha256', JSON.stringify([url, role, body]), 'base64url') };
}

export interface Manner {
  /** Many rows: runs off the event loop. */
  readonly heavy?: boolean;
  readonly turn?: string | readonly string[];
  /** Milliseconds for all its statements together. */
  readonly within?: number;
}

/** Runs a write and keeps its reply in one transaction. @throws ApiError 400 for callers without a credential. */
export async function onceTogether(
  call: Call,
  context: RecordContext,
  manner: Manner,
  work: (inside: RecordContext) => Promise<Answer>,
): Promise<Answer> {
  const { application } = call;
  const of = ownKey(call);
  if (of === null)
    throw new ApiError('HEADER_INVALID', 'Idempotency-Key needs a credential: replies are kept for who may read them.');
  return alone(application, of, async () => {
    const answer = await together(
      context,
      async (inside) => {
        const { database } = inside;
        const transaction = inside.inside!;
        if (!(await tryKey(database, transaction, of))) throw running();
        const known = await findReply(database, transaction, of, oldest(application));
        if (known) return replayOf(known, call);
        const made = await work(inside);
        const entry = { ...claimOf(call), ended: true, reply: replyText(made) };
        await insertReply(database, transaction, of, isoTime(inside.clock.now()), entry);
        return made;
      },
      manner,
    );
    sweep(application);
    return answer;
  });
}

/**
 * The reply that is kept for a request, for writes that look at something before their transaction which they take away:
 * a draft that was sent is there no more when its sending is asked for again. Null where nothing is kept.
 */
export async function keptAnswer(call: Call): Promise<Answer | null> {
  if (!call.once || call.inside || call.parameters()['dryRun'] !== undefined) return null;
  const of = ownKey(call);
  const known = of && (await findReply(call.application.database, null, of, oldest(call.application)));
  return known ? replayOf(known, call) : null;
}

/**
 * Runs a write that has transactions of its own: the key is taken before, and the reply kept after. A request whose end was
 * never heard of stays unanswered: it may have been done.
 */
export async function onceApart(call: Call, work: (call: Call) => Promise<Answer>): Promise<Answer> {
  const { application } = call;
  const { database, clock } = application;
  const of = ownKey(call);
  const free = { ...call, once: null };
  // Whoever has no credential yet gets a token here or a mail: nothing that could be handed out again.
  if (of === null || call.parameters()['dryRun'] === 'true') return work(free);
  return alone(application, of, async () => {
    const known = await database.write(
      async (transaction) => {
        const found = await findReply(database, transaction, of, oldest(application));
        if (!found)
          await insertReply(database, transaction, of, isoTime(clock.now()), {
            ...claimOf(call),
            ended: false,
            reply: null,
          });
        return found;
      },
      { turn: `reply ${of.credential} ${of.key}` },
    );
    if (known) return replayOf(known, call);
    let answer: Answer;
    try {
      answer = await work(free);
    } catch (error) {
      if (changedNothing(error)) await database.write((transaction) => deleteReply(database, transaction, of));
      throw error;
    }
    await database.write((transaction) => endReply(database, transaction, of, replyText(answer)));
    sweep(application);
    return answer;
  });
}

/**
 * What was refused may be asked again, and what others were faster than is run again at once. Of other faults nobody knows
 * what they left.
 */
function changedNothing(error: unknown): boolean {
  if (error instanceof ApiError) return error.label !== 'Internal Server Error';
  return error instanceof StaleVersion || (error instanceof DatabaseFault && overtaken.has(error.kind));
}

const overtaken: ReadonlySet<string> = new Set(['stale', 'collision']);

/** The key beside whose it is; null for callers without a credential, who cannot be told apart. */
function ownKey({ once, caller }: Call): ReplyKey | null {
  return caller.credentialId === null ? null : { credential: `${caller.type}:${caller.credentialId}`, key: once!.key };
}

function claimOf(call: Call): Pick<KeptReply, 'request' | 'power'> {
  return { request: call.once!.request, power: powerOf(call.caller.role, contextOf(call).access) };
}

function replayOf(known: KeptReply, call: Call): Answer {
  const { request, power } = claimOf(call);
  if (known.request !== request)
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used for another request; take a new one.', {
      details: { 'Idempotency-Key': 'This key belongs to a request with another path, query, role or body.' },
    });
  if (!known.ended)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'A request with this Idempotency-Key was begun, and its end is not known: if it does not run any more, look what is there, and take a new key.',
      { retryAfter: 5 },
    );
  if (known.reply === null)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The request was done; its reply holds a secret or is too long to be kept. Look what is there.',
    );
  if (known.power !== power)
    throw new ApiError(
      'REPLY_NOT_KEPT',
      'The request was done; since then the permissions of the role have changed, and its reply is not shown again.',
    );
  return { ...(JSON.parse(known.reply) as { data: string; meta?: object; counter?: number }), replayed: true };
}

/** Whether a reply holds a token of this server or a secret of a webhook: such a reply is neither stored nor compressed. */
export function holdsSecret(text: string): boolean {
  return secret.test(text);
}

const secret = /\btb[a-z]_[0-9A-Za-z]{40,}|\bwhsec_/;

function replyText(answer: Answer): string | null {
  if (!('data' in answer)) return null;
  const { data, meta, counter } = answer;
  if (data.length > limits.replyKeptBytes || holdsSecret(data)) return null;
  return JSON.stringify({ data, meta, counter });
}

const underWay = new WeakMap<Application, Set<string>>();

/** One request under a key at a time in this process; other nodes are kept off by the store. */
async function alone<T>(application: Application, { credential, key }: ReplyKey, work: () => Promise<T>): Promise<T> {
  const keys = underWay.get(application) ?? new Set();
  underWay.set(application, keys);
  const mine = `${credential} ${key}`;
  if (keys.has(mine)) throw running();
  keys.add(mine);
  try {
    return await work();
  } finally {
    keys.delete(mine);
  }
}

function running(): ApiError {
  return new ApiError('REQUEST_RUNNING', 'A request with this Idempotency-Key is still running; ask again later.', {
    retryAfter: 1,
  });
}

function oldest({ clock }: Application): string {
  return isoTime(clock.now() - limits.replyKeptMilliseconds);
}

const sweptAt = new WeakMap<Application, number>();
const sweepMilliseconds = 60_000;

/** Beside the replies, once a minute at most; what is left over is found the next time. */
function sweep(application: Application): void {
  const now = application.clock.now();
  if (now - (sweptAt.get(application) ?? 0) < sweepMilliseconds) return;
  sweptAt.set(application, now);
  void sweepReplies(application.database, oldest(application), limits.repliesKept).catch(() => {});
}
