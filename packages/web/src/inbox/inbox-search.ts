import type { TeamFields } from './team/team-types.ts';

/** The part of the inbox that is stored in the URL, so that it can be shared as a link. */
export interface InboxSearch {
  /** The id of the account; all accounts by default. */
  readonly account?: number;
  /** The role or path of a folder; `inbox` by default, `any` for all mail. */
  readonly folder?: string;
  readonly unread?: boolean;
  readonly starred?: boolean;
  /** Conversations with this label. */
  readonly label?: string;
  /** Conversations in this state; those in the inbox that are open by default. */
  readonly state?: 'closed' | 'snoozed' | 'any';
  /** Open conversations of this user, or of nobody. */
  readonly assignee?: number | 'none';
  /** The search text, which may contain operators. */
  readonly q?: string;
  /** Searches only the folder; otherwise all folders are searched. */
  readonly here?: boolean;
  /** The open conversation. */
  readonly c?: number;
}

export function parseInboxSearch(raw: Record<string, unknown>): InboxSearch {
  const parseId = (value: unknown): number | null =>
    Number.isSafeInteger(Number(value)) ? Number(value) || null : null;
  const account = parseId(raw['account']);
  const c = parseId(raw['c']);
  const { folder, q, state, label } = raw;
  const assignee = raw['assignee'] === 'none' ? 'none' : parseId(raw['assignee']);
  return {
    ...(account !== null && { account }),
    ...(typeof folder === 'string' && folder !== '' && folder !== 'inbox' && { folder }),
    ...(raw['unread'] === true && { unread: true }),
    ...(raw['starred'] === true && { starred: true }),
    ...(label !== undefined && label !== '' && { label: String(label) }),
    ...((state === 'closed' || state === 'snoozed' || state === 'any') && { state }),
    ...(assignee !== null && { assignee }),
    ...(q !== undefined && q !== '' && { q: String(q) }),
    ...(raw['here'] === true && { here: true }),
    ...(c !== null && { c }),
  };
}

/** The search parameters without the open conversation: the list depends on them. */
export type InboxView = Omit<InboxSearch, 'c'>;

/** The states of the conversations that a view shows; null: any. */
export function listStates({ folder = 'inbox', state, assignee, q }: InboxView): readonly string[] | null {
  if (state === 'any' || q !== undefined) return null;
  if (state === 'closed') return ['closed', 'archived'];
  if (state === 'snoozed') return ['snoozed'];
  return folder === 'inbox' || assignee !== undefined ? ['open'] : null;
}

/** Whether a view shows a conversation with this state and assignee. */
export function matchesTeamView(view: InboxView, row: Pick<TeamFields, 'state' | 'assigneeId'>): boolean {
  const { assignee } = view;
  const isOfAssignee = assignee === undefined || row.assigneeId === (assignee === 'none' ? null : assignee);
  return isOfAssignee && (listStates(view)?.includes(row.state) ?? true);
}

/**
 * The parameters of `conversations:list`. A search covers all folders unless it is restricted to one.
 *
 * @param readsState whether the role may read the state of conversations.
 */
export function buildListParameters(view: InboxView, readsState = true): object {
  const { account, unread, starred, label, q, assignee } = view;
  const states = readsState ? listStates(view) : null;
  const folder = getSingleFolder(view);
  const searchText = q === undefined ? '' : removeEverywhereOperators(q);
  return {
    ...(account !== undefined && { accountId: account }),
    ...(folder !== null && { folder }),
    ...(unread && { unread: true }),
    ...(starred && { starred: true }),
    ...(label !== undefined && { label }),
    ...(states && { state: states.join(',') }),
    ...(assignee !== undefined && { assigneeId: assignee }),
    ...(searchText !== '' && { search: searchText }),
  };
}

/** The folder that is shown; null if the list shows several folders. */
export function getSingleFolder(view: InboxView): string | null {
  const { folder = 'inbox', q } = view;
  return folder === 'any' || (q !== undefined && (hasFolderOperator(q) || !isFolderSearch(view))) ? null : folder;
}

/** Folders that a search of all folders excludes. */
const excludedFolders = new Set(['trash', 'junk']);

/** Whether a search is restricted to the folder. */
export function isFolderSearch({ folder = 'inbox', here }: InboxView): boolean {
  return here === true || excludedFolders.has(folder);
}

/** Whether a view shows the result of a search in several folders. */
export function isSearchOfAll(view: InboxView): boolean {
  return view.q !== undefined && getSingleFolder(view) === null;
}

/** The URL of a view of the inbox. */
export function buildInboxUrl(application: string, search: InboxSearch): string {
  const pairs = Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `/a/${application}/inbox${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

/** Whether the search text names a folder itself, which then takes precedence. */
export function hasFolderOperator(q: string): boolean {
  return /(^|\s)-?in:/.test(q);
}

/** `in:all` and `in:any` are the default of a search. */
function removeEverywhereOperators(q: string): string {
  return q.replace(/(^|\s)in:(all|any)(?=\s|$)/gi, '$1').trim();
}
