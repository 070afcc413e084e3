/** The first page of a list of conversations, which may be requested before the list exists. */
import type { Client, ListMeta, Reply } from '@tablinum/client';
import { buildListParameters, type InboxView } from '../inbox-search.ts';
import type { Conversation } from '../mail-types.ts';

export type ConversationPage = Reply<Conversation[], ListMeta>;

export const pageSize = 60;
/** An older page is not used, in milliseconds. */
const maxAge = 5000;

/** Which list a page belongs to. */
export interface ListSource {
  readonly client: Client;
  /** The role in which the list is read; null: the default one of the user. */
  readonly role: string | null;
  readonly view: InboxView;
}

interface StartedPage extends Omit<ListSource, 'view'> {
  readonly query: string;
  readonly time: number;
  readonly reply: Promise<ConversationPage>;
}

/** The page that was requested last, until a list takes it. */
let started: StartedPage | null = null;

/** The parameters of the first page. @param readsState whether the role may read the state of conversations. */
export function buildFirstPageQuery(view: InboxView, readsState: boolean): object {
  return { ...buildListParameters(view, readsState), pageSize };
}

/** Requests the first page of a view for the list that will be shown. */
export function startFirstPage({ client, role, view }: ListSource): void {
  const query = buildFirstPageQuery(view, true);
  const reply = readPage(client, query);
  reply.catch(() => {}); // the list shows the error
  started = { client, role, query: JSON.stringify(query), time: Date.now(), reply };
}

/** The first page: the one that was requested for this list, or a new request. */
export function readFirstPage({ client, role, view }: ListSource, readsState: boolean): Promise<ConversationPage> {
  const query = buildFirstPageQuery(view, readsState);
  const found = started;
  started = null;
  const isUsable =
    found?.client === client &&
    found.role === role &&
    found.query === JSON.stringify(query) &&
    Date.now() - found.time < maxAge;
  return isUsable ? found.reply : readPage(client, query);
}

/** Drops the requested page, because it belongs to another user. */
export function forgetFirstPage(): void {
  started = null;
}

function readPage(client: Client, query: object): Promise<ConversationPage> {
  return client.call<Conversation[], ListMeta>('conversations:list', { query });
}
