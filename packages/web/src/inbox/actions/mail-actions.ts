/**
 * What people do to conversations. Each act shows at once, then asks the server, and is put right where that refuses; what
 * takes mail out of sight may be taken back.
 */
import type { Client } from '@tablinum/client';
import { messageOf } from '../../data/problem.tsx';
import type { Texts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type EmailPlace, forgetThread, patchThread, readPlaces } from '../data-mail.ts';
import type { ConversationList } from '../list/conversation-list.ts';
import type { Conversation, Flags, Mailbox } from '../mail.ts';

interface Place {
  readonly client: Client;
  readonly application: string;
  readonly list: ConversationList;
  /** Role or path of the folder that is shown, or null where several are. */
  readonly folder: string | null;
  readonly texts: Texts['inbox'];
}

type Wanted = (emails: readonly EmailPlace[]) => readonly EmailPlace[];

export class MailActions {
  readonly #place: Place;
  #undo: (() => void) | null = null;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Read: all of its e-mails. Unread: the last one that somebody sent to us. */
  setRead(rows: readonly Conversation[], read: boolean): Promise<void> {
    const wanted: Wanted = read
      ? (emails) => emails.filter((each) => !each.read)
      : (emails) => lastOf(emails.filter((each) => !each.outgoing)) ?? lastOf(emails) ?? [];
    return this.#flag(rows, { read }, wanted, (row) => ({ ...row, unread: read ? 0 : Math.max(row.unread, 1) }));
  }

  /** A star is set on the last e-mail, and taken from all of them. */
  setStarred(rows: readonly Conversation[], starred: boolean): Promise<void> {
    const wanted: Wanted = starred
      ? (emails) => lastOf(emails) ?? []
      : (emails) => emails.filter((each) => each.starred);
    return this.#flag(rows, { starred }, wanted, (row) => ({
      ...row,
      starred: starred ? Math.max(row.starred, 1) : 0,
    }));
  }

  /** The flags of one e-mail of an open conversation. */
  async setFlags(conversation: number, email: number, flags: Flags): Promise<void> {
    const { application, client, list } = this.#place;
    patchThread(application, conversation, (each) => (each.id === email ? { ...each, ...flags } : each));
    try {
      await client.post('emails:batchUpdate', { ids: [email], ...flags });
    } catch (error) {
      this.#putRight([conversation], error);
    }
    list.heard(conversation);
  }

  move(rows: readonly Conversation[], mailbox: Pick<Mailbox, 'id' | 'path'>): void {
    const { client, texts } = this.#place;
    this.#takeAway(rows, texts.done.moved(rows.length, mailbox.path), (ids) =>
      client.post('emails:move', { ids, mailbox: mailbox.id }),
    );
  }

  /** Into the mailbox for what is done with; made where an account has none. */
  archive(rows: readonly Conversation[], mailboxes: readonly Mailbox[]): void {
    const { client, texts } = this.#place;
    this.#takeAway(rows, texts.done.archived(rows.length), async (ids, accountId) => {
      const has = mailboxes.some((each) => each.accountId === accountId && each.role === 'archive');
      if (!has) await client.post('mailboxes:create', { accountId, path: 'Archive', role: 'archive' }).catch(() => {});
      await client.post('emails:move', { ids, mailbox: 'archive' });
    });
  }

  trash(rows: readonly Conversation[]): void {
    const { client, texts } = this.#place;
    this.#takeAway(rows, texts.done.trashed(rows.length), (ids) => client.post('emails:destroy', { ids }));
  }

  /** For good; nothing takes it back. */
  async destroy(rows: readonly Conversation[]): Promise<void> {
    const { client, list, texts } = this.#place;
    const keys = rows.map(({ id }) => id);
    list.hide(keys);
    try {
      await client.post('emails:destroy', { ids: this.#concerned(await readPlaces(client, keys)).map(({ id }) => id) });
      toast(texts.done.destroyed(rows.length));
    } catch (error) {
      list.unhide(keys, rows);
      this.#putRight(keys, error);
    }
  }

  /** Takes the last act back that took mail out of sight. */
  undo(): void {
    this.#undo?.();
  }

  async #flag(
    rows: readonly Conversation[],
    flags: Flags,
    wanted: Wanted,
    change: (row: Conversation) => Conversation,
  ): Promise<void> {
    const { application, client, list } = this.#place;
    const keys = rows.map(({ id }) => id);
    list.patch(keys, change);
    try {
      const emails = await readPlaces(client, keys);
      const chosen = keys.flatMap((key) => wanted(emails.filter((each) => each.conversationId === key)));
      if (chosen.length === 0) return;
      const ids = new Set(chosen.map(({ id }) => id));
      for (const key of keys)
        patchThread(application, key, (email) => (ids.has(email.id) ? { ...email, ...flags } : email));
      await client.post('emails:batchUpdate', { ids: [...ids], ...flags });
    } catch (error) {
      this.#putRight(keys, error);
    }
  }

  #takeAway(
    rows: readonly Conversation[],
    said: string,
    act: (ids: readonly number[], accountId: number) => Promise<unknown>,
  ): void {
    if (rows.length === 0) return;
    const { client, list, texts } = this.#place;
    const keys = rows.map(({ id }) => id);
    list.hide(keys);
    const done = this.#away(keys, act);
    done.catch((error: unknown) => {
      list.unhide(keys, rows);
      this.#putRight(keys, error);
    });
    const back = async (): Promise<void> => {
      this.#undo = null;
      list.unhide(keys, rows);
      try {
        for (const [mailbox, ids] of grouped(await done, ({ mailboxId }) => mailboxId))
          if (mailbox !== null) await client.post('emails:move', { ids, mailbox });
        list.unhide(keys, rows);
      } catch (error) {
        this.#putRight(keys, error);
      }
    };
    this.#undo = () => void back();
    toast(said, { action: { label: texts.undo, run: () => void back() } });
  }

  async #away(
    keys: readonly number[],
    act: (ids: readonly number[], accountId: number) => Promise<unknown>,
  ): Promise<readonly EmailPlace[]> {
    const emails = this.#concerned(await readPlaces(this.#place.client, keys));
    for (const [account, ids] of grouped(emails, ({ accountId }) => accountId)) await act(ids, account);
    return emails;
  }

  /** Those in the folder that is shown; where several are shown, all but what was sent. */
  #concerned(emails: readonly EmailPlace[]): readonly EmailPlace[] {
    const { folder } = this.#place;
    const here = emails.filter((each) => (folder === null ? each.folder !== 'sent' : each.folder === folder));
    return here.length > 0 ? here : emails;
  }

  #putRight(keys: readonly number[], error: unknown): void {
    const { application, list } = this.#place;
    for (const key of keys) {
      list.heard(key);
      forgetThread(application, key);
    }
    toast(messageOf(error), { failed: true });
  }
}

function lastOf(emails: readonly EmailPlace[]): readonly EmailPlace[] | null {
  const last = emails.toSorted((a, b) => b.id - a.id)[0];
  return last ? [last] : null;
}

function grouped<K>(emails: readonly EmailPlace[], by: (email: EmailPlace) => K): [K, number[]][] {
  const groups = new Map<K, number[]>();
  for (const email of emails) groups.set(by(email), [...(groups.get(by(email)) ?? []), email.id]);
  return [...groups];
}
