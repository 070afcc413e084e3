/** The cached queries about the members of accounts, and what belongs to a conversation besides its e-mails. */
import { type AccountMember, type Client, Failure } from '@tablinum/client';
import { useApiQuery, useCheck } from '../../data/queries.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { HistoryEntry, Note } from './team-types.ts';

const noMembers: readonly AccountMember[] = [];

/** The members of an account by name; none until they are loaded. */
export function useMembers(account: number): readonly AccountMember[] {
  const { data } = useApiQuery(['mail-members', account], (client) => client.mailAccounts.members(account), {
    staleTime: 300_000,
  });
  return data ?? noMembers;
}

/** The id of the signed-in user; null until it is known. */
export function useOwnId(): number | null {
  return useCheck().data?.id ?? null;
}

/** Returns the name of a user of an account. */
export function useMemberName(account: number): (user: number | null) => string {
  const t = useInboxTexts().team;
  const members = useMembers(account);
  return (user) => (user === null ? t.nobody : (members.find(({ id }) => id === user)?.name ?? t.somebody(user)));
}

/** What a conversation shows besides its e-mails. */
export interface TeamHistory {
  /** Oldest first. */
  readonly notes: readonly Note[];
  /** Newest first. */
  readonly history: readonly HistoryEntry[];
}

const notesPerConversation = 200;
const historyEntries = 50;
/** Actions that were refused for a client: its role does not change while the client is used. */
const refusedActions = new WeakMap<Client, Set<string>>();

/** Reads the notes and the history of a conversation, as far as the role may read them. */
export async function readTeamHistory(client: Client, conversation: number): Promise<TeamHistory> {
  const [notes, history] = await Promise.all([
    readAllowed<Note>(client, 'conversationNotes:list', {
      filter: { conversationId: conversation },
      sort: 'id',
      pageSize: notesPerConversation,
    }),
    readAllowed<HistoryEntry>(client, 'conversations:history', {
      filterByTk: conversation,
      pageSize: historyEntries,
    }),
  ]);
  return { notes, history };
}

async function readAllowed<T>(client: Client, action: string, query: object): Promise<readonly T[]> {
  if (refusedActions.get(client)?.has(action)) return [];
  try {
    return (await client.call<readonly T[]>(action, { query })).data;
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 403) throw error;
    refusedActions.set(client, (refusedActions.get(client) ?? new Set()).add(action));
    return [];
  }
}
