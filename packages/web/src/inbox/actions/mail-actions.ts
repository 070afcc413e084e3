/**
 * The actions on conversations. Each action is shown before the server has answered and reverted if the server refuses it.
 * Actions that remove conversations from the list can be undone, except the permanent delete.
 */
import { type Client, Failure } from '@tablinum/client';
import { explainDenied } from '../../data/explain-denied.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import type { InboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import type { ConversationList } from '../list/conversation-list.ts';
import { invalidateThread, patchThread } from '../mail-queries.ts';
import type { Conversation, Flags, Mailbox } from '../mail-types.ts';
import {
  type EmailPlacement,
  moveEmails,
  PartialFailure,
  readPlacements,
  type UndoMove,
  writeInBatches,
} from './email-placements.ts';

interface MailActionContext {
  readonly client: Client;
  readonly application: string;
  readonly list: ConversationList;
  /** The role or path of the folder that the list shows; null if it shows several folders. */
  readonly folder: string | null;
  readonly texts: InboxTexts;
}

/** The action of the resource `emails` that is named when a refusal is explained. */
type MailAction = 'batchUpdate' | 'move' | 'destroy';
type EmailSelector = (emails: readonly EmailPlacement[]) => readonly EmailPlacement[];
type EmailWrite = (ids: readonly number[], accountId: number) => Promise<readonly UndoMove[]>;

/** How conversations are removed from the list. */
interface Removal {
  /** Shown with a button to undo it. */
  readonly message: string;
  readonly action: MailAction;
  readonly write: EmailWrite;
  /** The e-mails to write, out of those that the action affects; all of them by default. */
  readonly selectEmails?: EmailSelector;
}

/** Mail in these folders is not moved by an action on a conversation in another folder. */
const fixedFolders = new Set(['sent', 'drafts', 'outbox', 'trash']);

export class MailActions {
  readonly #context: MailActionContext;
  #undo: (() => void) | null = null;

  constructor(context: MailActionContext) {
    this.#context = context;
  }

  /** Marks all e-mails of the conversations read, or their last received e-mail unread. */
  setRead(rows: readonly Conversation[], read: boolean): Promise<void> {
    const selectEmails: EmailSelector = read
      ? (emails) => emails.filter((each) => !each.read)
      : (emails) => pickLast(emails.filter((each) => !each.outgoing)) ?? pickLast(emails) ?? [];
    return this.#flag(rows, { read }, selectEmails, (row) => ({ ...row, unread: read ? 0 : Math.max(row.unread, 1) }));
  }

  /** Sets a star on the last e-mail, or removes the stars of all e-mails. */
  setStarred(rows: readonly Conversation[], starred: boolean): Promise<void> {
    const selectEmails: EmailSelector = starred
      ? (emails) => pickLast(emails) ?? []
      : (emails) => emails.filter((each) => each.starred);
    return this.#flag(rows, { starred }, selectEmails, (row) => ({
      ...row,
      starred: starred ? Math.max(row.starred, 1) : 0,
    }));
  }

  /** Sets flags of one e-mail of the open conversation. */
  async setFlags(conversation: number, email: number, flags: Flags): Promise<void> {
    const { application, client, list } = this.#context;
    patchThread(application, conversation, (each) => (each.id === email ? { ...each, ...flags } : each));
    try {
      await client.post('emails:batchUpdate', { ids: [email], ...flags });
    } catch (error) {
      const before = Object.fromEntries(Object.entries(flags).map(([name, set]) => [name, !set]));
      patchThread(application, conversation, (each) => (each.id === email ? { ...each, ...before } : each));
      this.#handleError([conversation], error, 'batchUpdate');
    }
    list.markStale(conversation);
  }

  move(rows: readonly Conversation[], mailbox: Pick<Mailbox, 'id' | 'path'>): void {
    const { client, texts } = this.#context;
    this.#removeFromList(rows, {
      message: texts.done.moved(rows.length, mailbox.path),
      action: 'move',
      write: (ids) => moveEmails(client, 'move', { ids, mailbox: mailbox.id }),
    });
  }

  /** Moves the conversations to the archive folder of their account, which is created if it does not exist. */
  archive(rows: readonly Conversation[], mailboxes: readonly Mailbox[]): void {
    const { client, texts } = this.#context;
    const write: EmailWrite = async (ids, accountId) => {
      const hasArchive = mailboxes.some((each) => each.accountId === accountId && each.role === 'archive');
      if (!hasArchive)
        await client.post('mailboxes:create', { accountId, path: 'Archive', role: 'archive' }).catch(() => {});
      return moveEmails(client, 'move', { ids, mailbox: 'archive' });
    };
    this.#removeFromList(rows, { message: texts.done.archived(rows.length), action: 'move', write });
  }

  /**
   * Moves the conversations to the trash. E-mails that are already there are left out: the server would delete them
   * permanently.
   */
  trash(rows: readonly Conversation[]): void {
    const { client, texts } = this.#context;
    const write: EmailWrite = (ids) => moveEmails(client, 'destroy', { ids });
    const selectEmails: EmailSelector = (emails) => {
      const outside = emails.filter(({ folder }) => folder !== 'trash');
      if (outside.length === 0) throw new Error(texts.inTrash);
      return outside;
    };
    this.#removeFromList(rows, { message: texts.done.trashed(rows.length), action: 'destroy', write, selectEmails });
  }

  /** Deletes the e-mails of the conversations that are in the trash, permanently. */
  async destroy(rows: readonly Conversation[]): Promise<void> {
    const { client, list, texts } = this.#context;
    const keys = rows.map(({ id }) => id);
    list.hide(keys);
    try {
      const placements = await readPlacements(client, keys);
      const ids = placements.filter(({ folder }) => folder === 'trash').map(({ id }) => id);
      await writeInBatches(ids, (batch) => client.post('emails:destroy', { ids: batch }));
      toast(texts.done.destroyed(rows.length));
      list.settle(keys);
    } catch (error) {
      list.settle(keys, rows);
      this.#handleError(keys, error, 'destroy');
    }
  }

  /** Undoes the last action that removed conversations from the list. */
  undo(): void {
    this.#undo?.();
  }

  /** Makes `undo` the action that is undone next. */
  offerUndo(undo: () => void): void {
    this.#undo = undo;
  }

  /** The action was undone in another way. */
  forgetUndo(undo: () => void): void {
    if (this.#undo === undo) this.#undo = null;
  }

  async #flag(
    rows: readonly Conversation[],
    flags: Flags,
    selectEmails: EmailSelector,
    change: (row: Conversation) => Conversation,
  ): Promise<void> {
    if (rows.length === 0) return;
    const { application, client, list } = this.#context;
    const keys = rows.map(({ id }) => id);
    const done = list.patch(keys, change);
    try {
      const emails = groupByConversation(await readPlacements(client, keys));
      const chosen = keys.flatMap((key) => selectEmails(emails.get(key) ?? []));
      const ids = new Set(chosen.map(({ id }) => id));
      for (const key of new Set(chosen.map(({ conversationId }) => conversationId)))
        patchThread(application, key, (email) => (ids.has(email.id) ? { ...email, ...flags } : email));
      await writeInBatches([...ids], (batch) => client.post('emails:batchUpdate', { ids: batch, ...flags }));
      done();
    } catch (error) {
      done();
      this.#handleError(keys, error, 'batchUpdate');
    }
  }

  #removeFromList(rows: readonly Conversation[], removal: Removal): void {
    if (rows.length === 0) return;
    const { message, action, write, selectEmails = (emails) => emails } = removal;
    const { client, list, texts } = this.#context;
    const keys = rows.map(({ id }) => id);
    list.hide(keys);
    /** How to undo it; null after a failure, which has been shown to the user. */
    const done = this.#writeSelected(keys, write, selectEmails).then(
      (moves) => {
        list.settle(keys);
        return moves;
      },
      (error: unknown) => {
        list.settle(keys, rows);
        this.#handleError(keys, error, action);
        return null;
      },
    );
    let isReverted = false;
    const revert = async (): Promise<void> => {
      if (isReverted) return;
      isReverted = true;
      dismissToast();
      if (this.#undo === undo) this.#undo = null;
      list.settle(keys, rows);
      const release = list.retain(keys);
      try {
        const moves = await done;
        // The role may delete e-mails, but not move them.
        if (moves?.length === 0) throw new Error(texts.notAllowed);
        for (const move of moves ?? []) await moveEmails(client, 'move', move);
        release();
      } catch (error) {
        release();
        this.#handleError(keys, error, 'move');
      }
    };
    const undo = (): void => void revert();
    this.#undo = undo;
    const dismissToast = toast(message, { action: { label: texts.undo, run: undo } });
  }

  async #writeSelected(
    keys: readonly number[],
    write: EmailWrite,
    selectEmails: EmailSelector,
  ): Promise<readonly UndoMove[]> {
    const emails = selectEmails(this.#selectAffected(await readPlacements(this.#context.client, keys)));
    const moves: UndoMove[] = [];
    for (const [account, list] of Map.groupBy(emails, ({ accountId }) => accountId)) {
      const ids = list.map(({ id }) => id);
      moves.push(...(await writeInBatches(ids, (batch) => write(batch, account))).flat());
    }
    return moves;
  }

  /**
   * The e-mails of each conversation that are in the shown folder; if there are none, those outside of {@link
   * fixedFolders}.
   */
  #selectAffected(emails: readonly EmailPlacement[]): readonly EmailPlacement[] {
    const { folder } = this.#context;
    return [...groupByConversation(emails).values()].flatMap((all) => {
      const here = all.filter((each) => folder !== null && each.folder === folder);
      const open = all.filter((each) => !fixedFolders.has(each.folder ?? ''));
      return here.length > 0 ? here : open.length > 0 ? open : all;
    });
  }

  #handleError(keys: readonly number[], error: unknown, action: MailAction): void {
    const { application, list, texts } = this.#context;
    for (const key of keys) {
      list.markStale(key);
      invalidateThread(application, key);
    }
    const cause = error instanceof PartialFailure ? error.cause : error;
    const message =
      error instanceof PartialFailure ? texts.partlyDone(error.done, error.all, error.message) : getErrorMessage(error);
    const isDenied = cause instanceof Failure && cause.status === 403;
    const why = { label: texts.why, run: () => explainDenied({ resource: 'emails', action }) };
    toast(message, { failed: true, ...(isDenied && { action: why }) });
  }
}

function groupByConversation(emails: readonly EmailPlacement[]): ReadonlyMap<number, EmailPlacement[]> {
  const found = new Map<number, EmailPlacement[]>();
  for (const email of emails) {
    const list = found.get(email.conversationId);
    if (list) list.push(email);
    else found.set(email.conversationId, [email]);
  }
  return found;
}

function pickLast(emails: readonly EmailPlacement[]): readonly EmailPlacement[] | null {
  const last = emails.toSorted((a, b) => b.id - a.id)[0];
  return last ? [last] : null;
}
