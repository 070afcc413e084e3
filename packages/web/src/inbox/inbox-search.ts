/** What of the inbox is shown, as the address says it: a colleague with the same accounts sees the same. */
export interface InboxSearch {
  /** Id of the account; all of them unless told. */
  readonly account?: number;
  /** Role or path of a mailbox; `inbox` unless told, `any` for all mail. */
  readonly folder?: string;
  readonly unread?: boolean;
  readonly starred?: boolean;
  /** Search words, operators among them. */
  readonly q?: string;
  /** Searches the folder only; otherwise all folders are searched. */
  readonly here?: boolean;
  /** The open conversation. */
  readonly c?: number;
}

export function parseInboxSearch(raw: Record<string, unknown>): InboxSearch {
  const parseId = (value: unknown): number | null =>
    Number.isSafeInteger(Number(value)) ? Number(value) || null : null;
  const account = parseId(raw['account']);
  const c = parseId(raw['c']);
  const { folder, q } = raw;
  return {
    ...(account !== null && { account }),
    ...(typeof folder === 'string' && folder !== '' && folder !== 'inbox' && { folder }),
    ...(raw['unread'] === true && { unread: true }),
    ...(raw['starred'] === true && { starred: true }),
    ...(q !== undefined && q !== '' && { q: String(q) }),
    ...(raw['here'] === true && { here: true }),
    ...(c !== null && { c }),
  };
}

/** The address without the open conversation: what the list depends on. */
export type InboxView = Omit<InboxSearch, 'c'>;

/** The parameters of `conversations:list`. A search looks in all folders unless it is narrowed to one. */
export function buildListParameters(view: InboxView): object {
  const { account, unread, starred, q } = view;
  const folder = getSingleFolder(view);
  const searchText = q === undefined ? '' : removeEverywhereOperators(q);
  return {
    ...(account !== undefined && { accountId: account }),
    ...(folder !== null && { folder }),
    ...(unread && { unread: true }),
    ...(starred && { starred: true }),
    ...(searchText !== '' && { search: searchText }),
  };
}

/** The one folder that is shown, or null where several are. */
export function getSingleFolder(view: InboxView): string | null {
  const { folder = 'inbox', q } = view;
  return folder === 'any' || (q !== undefined && (hasFolderOperator(q) || !isFolderSearch(view))) ? null : folder;
}

/** Folders that a search of all folders leaves out. */
const excludedFolders = new Set(['trash', 'junk']);

/** Whether a search looks in the folder only. */
export function isFolderSearch({ folder = 'inbox', here }: InboxView): boolean {
  return here === true || excludedFolders.has(folder);
}

/** A link to what is shown. */
export function buildInboxUrl(application: string, search: InboxSearch): string {
  const pairs = Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `/a/${application}/inbox${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

/** Search words may say where to look: then these decide. */
export function hasFolderOperator(q: string): boolean {
  return /(^|\s)-?in:/.test(q);
}

/** `in:all` and `in:any` say what a search does anyway. */
function removeEverywhereOperators(q: string): string {
  return q.replace(/(^|\s)in:(all|any)(?=\s|$)/gi, '$1').trim();
}
