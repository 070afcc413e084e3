/** Reads the e-mails of conversations with the properties that actions need, and writes e-mails in batches. */
import type { Client, ListMeta } from '@tablinum/client';
import type { Email } from '../mail-types.ts';

export type EmailPlacement = Pick<
  Email,
  'id' | 'accountId' | 'folder' | 'read' | 'starred' | 'outgoing' | 'receivedAt'
> & { readonly conversationId: number };

/** Limits of one request: keys in a filter, e-mails of a page, e-mails of a write. */
const batchSizes = { conversations: 200, emails: 1000 };

/** The body of a request that puts e-mails back into the mailboxes that they were in. */
export interface UndoMove {
  readonly ids: readonly number[];
  readonly mailbox: readonly number[];
}

/** Moves e-mails: `emails:move`, or `emails:destroy` for those outside of the trash. @returns how to undo it. */
export async function moveEmails(
  client: Client,
  action: 'move' | 'destroy',
  body: object,
): Promise<readonly UndoMove[]> {
  const options = { method: 'POST' as const, body };
  const { meta } = await client.call<number, { readonly undo: readonly UndoMove[] }>(`emails:${action}`, options);
  return meta.undo;
}

/** All of them, over all pages. */
export async function readPlacements(
  client: Client,
  conversations: readonly number[],
): Promise<readonly EmailPlacement[]> {
  const found: EmailPlacement[] = [];
  for (const batch of toBatches(conversations, batchSizes.conversations)) {
    let after: string | null = null;
    do {
      const query: object = {
        filter: { conversationId: { $in: batch } },
        fields: ['id', 'accountId', 'conversationId', 'folder', 'read', 'starred', 'outgoing', 'receivedAt'],
        pageSize: batchSizes.emails,
        ...(after !== null && { after }),
      };
      const { data, meta } = await client.call<EmailPlacement[], ListMeta>('emails:list', { query });
      found.push(...data);
      after = meta.nextCursor;
    } while (after !== null);
  }
  return found;
}

/** A write that failed after some batches. The batches before it stay written. */
export class PartialFailure extends Error {
  readonly done: number;
  readonly all: number;

  constructor(cause: unknown, done: number, all: number) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.done = done;
    this.all = all;
  }
}

/**
 * Writes e-mails in sequential batches of a thousand.
 *
 * @returns the result of each batch.
 * @throws PartialFailure if a batch after the first one fails; the original error if the first one fails.
 */
export async function writeInBatches<T>(
  ids: readonly number[],
  write: (ids: readonly number[]) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  let done = 0;
  for (const batch of toBatches(ids, batchSizes.emails)) {
    try {
      results.push(await write(batch));
    } catch (error) {
      throw done === 0 ? error : new PartialFailure(error, done, ids.length);
    }
    done += batch.length;
  }
  return results;
}

function* toBatches<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
