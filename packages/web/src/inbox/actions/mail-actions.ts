/**
 * What people do to conversations. Each act shows at once, then asks the server, and is put right where that refuses; what
 * takes mail out of sight may be taken back.
 */
import { type Client, Failure } from '@tablinum/client';
import { explainDenied } from '../../data/explain-denied.tsx';
import { messageOf } from '../../data/problem.tsx';
import type { InboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { forgetThread, patchThread } from '../data-mail.ts';
import type { ConversationList } from '../list/conversation-list.ts';
import type { Conversation, Flags, Mailbox } from '../mail.ts';
import { type EmailPlace, PartlyDone, readPlaces, writePlaces } from './email-places.ts';

interface Place {
  readonly client: Client;
  readonly application: string;
  readonly list: ConversationList;
  /** Role or path of the folder that is shown, or null where several are. */
  readonly folder: string | null;
  readonly texts: InboxTexts;
}

/** An action of e-mails, as a refusal is explained by. */
type MailAction = 'batchUpdate' | 'move' | 'destroy';
type Wanted = (emails: readonly EmailPlace[]) => readonly EmailPlace[];
type Act = (ids: readonly number[], accountId: number) => Promise<unknown>;

/** Folders whose mail stays where it is when a conversation is put away from elsewhere. */
const ownPlaces = new Set(['sent', 'drafts', 'outbox', 'trash']);

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
      const before = Object.fromEntries(Object.entries(flags).map(([name, set]) => [name, !set]));
      patchThread(application, conversation, (each) => (each.id === email ? { ...each, ...before } : each));
      this.#putRight([conversation], error, 'batchUpdate');
    }
    list.heard(conversation);
  }

  move(rows: readonly Conversation[], mailbox: Pick<Mailbox, 'id' | 'path'>): void {
    const { client, texts } = this.#place;
    this.#takeAway(rows, texts.done.moved(rows.length, mailbox.path), 'move', (ids) =>
      client.post('emails:move', { ids, mailbox: mailbox.id }),
    );
  }

  /** Into the mailbox for what is done with; made where an account has none. */
  archive(rows: readonly Conversation[], mailboxes: readonly Mailbox[]): void {
    const { client, texts } = this.#place;
    this.#takeAway(rows, texts.done.archived(rows.length), 'move', async (ids, accountId) => {
      const has = mailboxes.some((each) => each.accountId === accountId && each.role === 'archive');
      if (!has) await client.post('mailboxes:create', { accountId, path: 'Archive', role: 'archive' }).catch(() => {});
      await client.post('emails:move', { ids, mailbox: 'archive' });
    });
  }

  /** What lies in the trash already stays there: the server would destroy it for good, and nobody has asked for that. */
  trash(rows: readonly Conversation[]): void {
    const { client, texts } = this.#place;
    const destroy: Act = (ids) => client.post('emails:destroy', { ids });
    const wanted: Wanted = (emails) => {
      const outside = emails.filter(({ folder }) => folder !== 'trash');
      if (outside.length === 0) throw new Error(texts.inTrash);
      return outside;
    };
    this.#takeAway(rows, texts.done.trashed(rows.length), 'destroy', destroy, wanted);
  }

  /** For good; nothing takes it back. */
  async destroy(rows: readonly Conversation[]): Promise<void> {
    const { client, list, texts } = this.#place;
    const keys = rows.map(({ id }) => id);
    list.hide(keys);
    try {
      const places = await readPlaces(client, keys);
      const ids = places.filter(({ folder }) => folder === 'trash').map(({ id }) => id);
      await writePlaces(ids, (some) => client.post('emails:destroy', { ids: some }));
      toast(texts.done.destroyed(rows.length));
      list.settle(keys);
    } catch (error) {
      list.settle(keys, rows);
      this.#putRight(keys, error, 'destroy');
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
    if (rows.length === 0) return;
    const { application, client, list } = this.#place;
    const keys = rows.map(({ id }) => id);
    const done = list.patch(keys, change);
    try {
      const emails = byConversation(await readPlaces(client, keys));
      const chosen = keys.flatMap((key) => wanted(emails.get(key) ?? []));
      const ids = new Set(chosen.map(({ id }) => id));
      for (const key of new Set(chosen.map(({ conversationId }) => conversationId)))
        patchThread(application, key, (email) => (ids.has(email.id) ? { ...email, ...flags } : email));
      await writePlaces([...ids], (some) => client.post('emails:batchUpdate', { ids: some, ...flags }));
      done();
    } catch (error) {
      done();
      this.#putRight(keys, error, 'batchUpdate');
    }
  }

  #takeAway(
    rows: readonly Conversation[],
    said: string,
    action: MailAction,
    act: Act,
    wanted: Wanted = (emails) => emails,
  ): void {
    if (rows.length === 0) return;
    const { client, list, texts } = this.#place;
    const keys = rows.map(({ id }) => id);
    list.hide(keys);
    /** What was taken away; null where that was refused, which has been said then. */
    const done = this.#away(keys, act, wanted).then(
      (emails) => {
        list.settle(keys);
        return emails;
      },
      (error: unknown) => {
        list.settle(keys, rows);
        this.#putRight(keys, error, action);
        return null;
      },
    );
    let taken = false;
    const back = async (): Promise<void> => {
      if (taken) return;
      taken = true;
      dismissToast();
      if (this.#undo === undo) this.#undo = null;
      list.settle(keys, rows);
      const release = list.keep(keys);
      try {
        for (const [mailbox, ids] of grouped((await done) ?? [], ({ mailboxId }) => mailboxId))
          if (mailbox !== null) await writePlaces(ids, (some) => client.post('emails:move', { ids: some, mailbox }));
        release();
      } catch (error) {
        release();
        this.#putRight(keys, error, 'move');
      }
    };
    const undo = (): void => void back();
    this.#undo = undo;
    const dismissToast = toast(said, { action: { label: texts.undo, run: undo } });
  }

  async #away(keys: readonly number[], act: Act, wanted: Wanted): Promise<readonly EmailPlace[]> {
    const emails = wanted(this.#concerned(await readPlaces(this.#place.client, keys)));
    for (const [account, ids] of grouped(emails, ({ accountId }) => accountId))
      await writePlaces(ids, (some) => act(some, account));
    return emails;
  }

  /** Of each conversation those in the folder that is shown; where several are shown, what lies in none of its own. */
  #concerned(emails: readonly EmailPlace[]): readonly EmailPlace[] {
    const { folder } = this.#place;
    return [...byConversation(emails).values()].flatMap((all) => {
      const here = all.filter((each) => folder !== null && each.folder === folder);
      const open = all.filter((each) => !ownPlaces.has(each.folder ?? ''));
      return here.length > 0 ? here : open.length > 0 ? open : all;
    });
  }

  #putRight(keys: readonly number[], error: unknown, action: MailAction): void {
    const { application, list, texts } = this.#place;
    for (const key of keys) {
      list.heard(key);
      forgetThread(application, key);
    }
    const cause = error instanceof PartlyDone ? error.cause : error;
    const said =
      error instanceof PartlyDone ? texts.partlyDone(error.done, error.all, error.message) : messageOf(error);
    const denied = cause instanceof Failure && cause.status === 403;
    const why = { label: texts.why, run: () => explainDenied({ resource: 'emails', action }) };
    toast(said, { failed: true, ...(denied && { action: why }) });
  }
}

function byConversation(emails: readonly EmailPlace[]): ReadonlyMap<number, EmailPlace[]> {
  const found = new Map<number, EmailPlace[]>();
  for (const email of emails) {
    const list = found.get(email.conversationId);
    if (list) list.push(email);
    else found.set(email.conversationId, [email]);
  }
  return found;
}

function lastOf(emails: readonly EmailPlace[]): readonly EmailPlace[] | null {
  const last = emails.toSorted((a, b) => b.id - a.id)[0];
  return last ? [last] : null;
}

function grouped<K>(emails: readonly EmailPlace[], by: (email: EmailPlace) => K): [K, number[]][] {
  const groups = new Map<K, number[]>();
  for (const email of emails) {
    const ids = groups.get(by(email));
    if (ids) ids.push(email.id);
    else groups.set(by(email), [email.id]);
  }
  return [...groups];
}
