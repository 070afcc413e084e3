/**
 * Changes of the state, the assignee and the mute of conversations. Each is shown before the server has answered, reverted if the
 * server refuses it, and can be undone.
 */
import { type Client, Failure } from '@tablinum/client';
import { explainDenied } from '../../data/explain-denied.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import type { InboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import type { MailActions } from '../actions/mail-actions.ts';
import { type InboxView, matchesTeamView } from '../inbox-search.ts';
import type { ConversationList } from '../list/conversation-list.ts';
import { invalidateThread, patchConversation } from '../mail-queries.ts';
import type { Conversation } from '../mail-types.ts';
import type { TeamFields } from './team-types.ts';

export type TeamChange = Partial<TeamFields>;

interface TeamActionContext {
  readonly client: Client;
  readonly application: string;
  readonly list: ConversationList;
  readonly view: InboxView;
  /** Offers the key that undoes the last action. */
  readonly mail: MailActions;
  readonly texts: InboxTexts;
}

const keysPerRequest = 200;

export class TeamActions {
  readonly #context: TeamActionContext;

  constructor(context: TeamActionContext) {
    this.#context = context;
  }

  /** Whether conversations leave the shown list by a change. */
  leavesView(row: Conversation, change: TeamChange): boolean {
    return !matchesTeamView(this.#context.view, { ...row, ...change });
  }

  /** @param message shown with a button to undo the change. */
  change(rows: readonly Conversation[], change: TeamChange, message: string): void {
    if (rows.length === 0) return;
    const { list, mail, texts } = this.#context;
    const keys = rows.map(({ id }) => id);
    const done = this.#apply(rows, change, () => this.#write(keys, change));
    let isReverted = false;
    const revert = async (): Promise<void> => {
      if (isReverted) return;
      isReverted = true;
      dismiss();
      mail.forgetUndo(undo);
      const leaving = rows.filter((row) => this.leavesView(row, change));
      list.settle(
        leaving.map(({ id }) => id),
        leaving,
      );
      const release = list.retain(leaving.map(({ id }) => id));
      if (await done) await this.#restore(rows, change);
      release();
    };
    const undo = (): void => void revert();
    mail.offerUndo(undo);
    const dismiss = toast(message, { action: { label: texts.undo, run: undo } });
  }

  /** Writes the values that the conversations had before a change. */
  async #restore(rows: readonly Conversation[], change: TeamChange): Promise<void> {
    const groups = Map.groupBy(rows, (row) => JSON.stringify(getPrevious(row, change)));
    for (const [text, group] of groups) {
      const previous = JSON.parse(text) as TeamChange;
      const changed = group.map((row) => ({ ...row, ...change }));
      const keys = group.map(({ id }) => id);
      await this.#apply(changed, previous, () => this.#write(keys, previous));
    }
  }

  /** Shows a change while it is written. @returns whether it was written. */
  async #apply(rows: readonly Conversation[], change: TeamChange, write: () => Promise<void>): Promise<boolean> {
    const { application, list } = this.#context;
    const leaving = rows.filter((row) => this.leavesView(row, change));
    const leavingKeys = leaving.map(({ id }) => id);
    const staying = rows.filter((row) => !leaving.includes(row)).map(({ id }) => id);
    const end = list.patch(staying, (row) => ({ ...row, ...change }));
    list.hide(leavingKeys);
    for (const { id } of rows) patchConversation(application, id, change);
    try {
      await write();
      end();
      list.settle(leavingKeys);
      for (const { id } of rows) invalidateThread(application, id);
      return true;
    } catch (error) {
      end();
      list.settle(leavingKeys, leaving);
      for (const row of rows) patchConversation(application, row.id, getPrevious(row, change));
      this.#handleError(rows, error);
      return false;
    }
  }

  async #write(keys: readonly number[], change: TeamChange): Promise<void> {
    const { client } = this.#context;
    for (let from = 0; from < keys.length; from += keysPerRequest)
      await client.post('conversations:update', change, { filterByTk: keys.slice(from, from + keysPerRequest) });
  }

  #handleError(rows: readonly Conversation[], error: unknown): void {
    const { application, list, texts } = this.#context;
    for (const { id } of rows) {
      list.markStale(id);
      invalidateThread(application, id);
    }
    const isDenied = error instanceof Failure && error.status === 403;
    const why = { label: texts.why, run: () => explainDenied({ resource: 'conversations', action: 'update' }) };
    toast(getErrorMessage(error), { failed: true, ...(isDenied && { action: why }) });
  }
}

/** The values of a conversation before a change. A snooze that has ended meanwhile is not repeated. */
function getPrevious(row: Conversation, change: TeamChange): TeamChange {
  const hasState = 'state' in change || 'snoozedUntil' in change;
  const isSnoozed = row.state === 'snoozed' && row.snoozedUntil !== null && Date.parse(row.snoozedUntil) > Date.now();
  const state = row.state === 'snoozed' && !isSnoozed ? 'open' : row.state;
  return {
    ...(hasState && { state, ...(isSnoozed && { snoozedUntil: row.snoozedUntil }) }),
    ...('muted' in change && { muted: row.muted }),
    ...('assigneeId' in change && { assigneeId: row.assigneeId }),
  };
}
