/** What is known about the person behind a conversation: records of other collections, as far as the role may list them. */
import type { Client, Collection, Field, RecordValues } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApiQuery } from '../../data/queries.ts';
import { useSchema } from '../../data/schema.ts';
import type { Thread } from '../mail-types.ts';

/** Records of one collection. */
export interface FoundRecords {
  readonly collection: Collection;
  readonly records: readonly RecordValues[];
}

interface CustomerQuery {
  readonly collection: Collection;
  readonly filter: object;
}

const maxCollections = 12;
const recordsPerCollection = 5;

/** The address of the first sender who is not the account itself; null if there is none. */
export function findCustomerAddress(thread: Pick<Thread, 'emails'>): string | null {
  const received = thread.emails.find(({ outgoing, from }) => !outgoing && from?.[0]?.address);
  return received?.from?.[0]?.address ?? null;
}

/** Fields that were added to conversations, which the role can read. */
export function listOwnFields(collection: Collection | undefined): readonly Field[] {
  return (collection?.fields ?? []).filter(
    ({ name, type }) => !coreFields.has(name) && !/^(belongsTo|hasOne|hasMany|belongsToMany|password|file)/.test(type),
  );
}

/** The fields that every conversation has. */
const coreFields: ReadonlySet<string> = new Set([
  ...['id', 'accountId', 'account', 'subject', 'participants', 'messages', 'unread', 'starred', 'attachments'],
  ...['lastAt', 'lastEmailId', 'snippet', 'state', 'assigneeId', 'assignee', 'mergedInto', 'snoozedUntil'],
  ...['snoozedById', 'snoozedBy', 'muted', 'notes', 'emails', 'conversationNotes'],
]);

/** Records that refer to the conversation or its e-mails, and those with the address of the customer. */
export function useCustomerRecords(thread: Thread, isShown: boolean): UseQueryResult<readonly FoundRecords[], Error> {
  const { data: schema } = useSchema();
  const address = findCustomerAddress(thread);
  return useApiQuery(
    ['mail-customer', thread.id, address],
    (client) => readRecords(client, buildQueries(schema?.collections ?? [], thread, address)),
    { enabled: isShown && schema !== undefined, staleTime: 30_000 },
  );
}

function buildQueries(
  collections: readonly Collection[],
  thread: Thread,
  address: string | null,
): readonly CustomerQuery[] {
  const emails = thread.emails.map(({ id }) => id);
  return collections
    .filter(({ system }) => !system)
    .flatMap((collection): CustomerQuery[] => {
      const conditions = collection.fields.flatMap((field): object[] => {
        if (field.type === 'email' && address !== null)
          return [{ [field.name]: { $in: [...new Set([address, address.toLowerCase()])] } }];
        if (field.type !== 'belongsTo' || field.foreignKey === undefined) return [];
        if (field.target === 'conversations') return [{ [field.foreignKey]: thread.id }];
        return field.target === 'emails' && emails.length > 0 ? [{ [field.foreignKey]: { $in: emails } }] : [];
      });
      return conditions.length > 0 ? [{ collection, filter: { $or: conditions } }] : [];
    })
    .slice(0, maxCollections);
}

async function readRecords(client: Client, queries: readonly CustomerQuery[]): Promise<readonly FoundRecords[]> {
  const found = await Promise.all(
    queries.map(async ({ collection, filter }) => {
      const query = { filter, pageSize: recordsPerCollection, count: 'none' };
      const { data } = await client.call<readonly RecordValues[]>(`${encodeURIComponent(collection.name)}:list`, {
        query,
      });
      return { collection, records: data };
    }),
  );
  return found.filter(({ records }) => records.length > 0);
}
