/** The e-mails of conversations with what an action needs of them, and writes about as many as there are. */
import type { Client, ListMeta } from '@tablinum/client';
import type { Email } from '../mail-types.ts';

export type EmailPlacement = Pick<
  Email,
  'id' | 'accountId' | 'mailboxId' | 'folder' | 'read' | 'starred' | 'outgoing' | 'receivedAt'
> & { readonly conversationId: number };

/** What one request takes: keys in a filter, e-mails of a page and of a write. */
const batchSizes = { conversations: 200, emails: 1000 };

/** All of them, however many. */
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
        fields: [
          'id',
          'accountId',
          'conversationId',
          'mailboxId',
          'folder',
          'read',
          'starred',
          'outgoing',
          'receivedAt',
        ],
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

/** A write that stopped on its way: what came before was done, and stays. */
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
 * Writes about e-mails, a thousand at a time, one after the other.
 *
 * @throws PartialFailure where the server refuses after the first thousand; what it threw where it refuses at once.
 */
export async function writeInBatches(
  ids: readonly number[],
  write: (ids: readonly number[]) => Promise<unknown>,
): Promise<void> {
  let done = 0;
  for (const batch of toBatches(ids, batchSizes.emails)) {
    try {
      await write(batch);
    } catch (error) {
      throw done === 0 ? error : new PartialFailure(error, done, ids.length);
    }
    done += batch.length;
  }
}

function* toBatches<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
