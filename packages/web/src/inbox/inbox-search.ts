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

export function inboxSearch(given: Record<string, unknown>): InboxSearch {
  const whole = (value: unknown): number | null => (Number.isSafeInteger(Number(value)) ? Number(value) || null : null);
  const account = whole(given['account']);
  const c = whole(given['c']);
  const { folder, q } = given;
  return {
    ...(account !== null && { account }),
    ...(typeof folder === 'string' && folder !== '' && folder !== 'inbox' && { folder }),
    ...(given['unread'] === true && { unread: true }),
    ...(given['starred'] === true && { starred: true }),
    ...(q !== undefined && q !== '' && { q: String(q) }),
    ...(given['here'] === true && { here: true }),
    ...(c !== null && { c }),
  };
}

/** The address without the open conversation: what the list depends on. */
export type Shown = Omit<InboxSearch, 'c'>;

/** The parameters of `conversations:list`. A search looks in all folders unless it is narrowed to one. */
export function listParameters(shown: Shown): object {
  const { account, unread, starred, q } = shown;
  const folder = folderShown(shown);
  const words = q === undefined ? '' : withoutEverywhere(q);
  return {
    ...(account !== undefined && { accountId: account }),
    ...(folder !== null && { folder }),
    ...(unread && { unread: true }),
    ...(starred && { starred: true }),
    ...(words !== '' && { search: words }),
  };
}

/** The one folder that is shown, or null where several are. */
export function folderShown(shown: Shown): string | null {
  const { folder = 'inbox', q } = shown;
  return folder === 'any' || (q !== undefined && (namesFolder(q) || !searchesFolder(shown))) ? null : folder;
}

/** Folders that a search of all folders leaves out. */
const apart = new Set(['trash', 'junk']);

/** Whether a search looks in the folder only. */
export function searchesFolder({ folder = 'inbox', here }: Shown): boolean {
  return here === true || apart.has(folder);
}

/** A link to what is shown. */
export function addressOf(application: string, search: InboxSearch): string {
  const pairs = Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `/a/${application}/inbox${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

/** Search words may say where to look: then these decide. */
export function namesFolder(q: string): boolean {
  return /(^|\s)-?in:/.test(q);
}

/** `in:all` and `in:any` say what a search does anyway. */
function withoutEverywhere(q: string): string {
  return q.replace(/(^|\s)in:(all|any)(?=\s|$)/gi, '$1').trim();
}
