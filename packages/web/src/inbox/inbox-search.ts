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
    ...(c !== null && { c }),
  };
}

/** The address without the open conversation: what the list depends on. */
export type Shown = Omit<InboxSearch, 'c'>;

/** The parameters of `conversations:list`. Words that say where to look take the place of the folder. */
export function listParameters({ account, folder = 'inbox', unread, starred, q }: Shown): object {
  const everywhere = folder === 'any' || namesFolder(q);
  return {
    ...(account !== undefined && { accountId: account }),
    ...(!everywhere && { folder }),
    ...(unread && { unread: true }),
    ...(starred && { starred: true }),
    ...(q !== undefined && { search: q }),
  };
}

/** The one folder that is shown, or null where several are. */
export function folderShown({ folder = 'inbox', q }: Shown): string | null {
  return folder === 'any' || namesFolder(q) ? null : folder;
}

/** A link to what is shown. */
export function addressOf(application: string, search: InboxSearch): string {
  const pairs = Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `/a/${application}/inbox${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

/** Search words may say where to look: then these decide. */
function namesFolder(q: string | undefined): boolean {
  return q !== undefined && /(^|\s)-?in:/.test(q);
}
