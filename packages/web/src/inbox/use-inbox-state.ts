import { useEffect } from 'react';
import { getClient, useApplication } from '../data/application.tsx';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import type { DraftOrigin } from './compose/draft-state.ts';
import { type ComposerState, useComposer } from './compose/use-composer.ts';
import { type InboxActions, inboxCommands, useInboxCommands } from './inbox-commands.ts';
import type { InboxView } from './inbox-search.ts';
import type { ConversationList, ListState } from './list/conversation-list.ts';
import { useOpenThread } from './mail-queries.ts';
import type { Account } from './mail-types.ts';
import { type MailRights, noRights, useMailRights } from './rights.ts';
import { listLabels } from './team/labels.ts';
import { noteForm } from './team/thread-team.tsx';
import { useTeamCommands } from './team/use-team-commands.ts';
import { useConversationList } from './use-conversation-list.ts';
import { type Cursor, useCursor } from './use-cursor.ts';
import { useInboxAddress } from './use-inbox-address.ts';
import { type MailCommands, useMailCommands } from './use-mail-commands.ts';
import { type Selection, useSelection } from './use-selection.ts';

export interface InboxState {
  readonly view: InboxView;
  /** Shows another list; clears the selection and the cursor. */
  readonly setView: (view: InboxView) => void;
  /** The open conversation; null for none. */
  readonly opened: number | null;
  readonly list: ConversationList;
  readonly state: ListState;
  readonly selection: Selection;
  readonly cursor: Cursor;
  readonly commands: MailCommands;
  readonly rights: MailRights;
  readonly composer: ComposerState;
  /** Everything that keys and buttons can do. */
  readonly actions: InboxActions;
  /** The labels of the open conversation. */
  readonly labels: readonly string[];
  /** Opens a conversation. */
  readonly open: (conversation: number) => void;
  /** Opens a draft, and the conversation that it belongs to. */
  readonly reopenDraft: (beginning: DraftOrigin) => void;
}

interface InboxStateOptions {
  readonly accounts: readonly Account[];
  /** One pane is shown at a time. */
  readonly isNarrow: boolean;
  readonly openHelp: () => void;
  readonly openMovePicker: () => void;
  readonly openSnoozeDialog: () => void;
  readonly openLabelDialog: () => void;
  readonly focusSearch: () => void;
}

/** The list, the open conversation and the message that is being written; binds the keys and commands of the inbox. */
export function useInboxState(options: InboxStateOptions): InboxState {
  const { accounts, isNarrow, openHelp, openMovePicker, openSnoozeDialog, openLabelDialog, focusSearch } = options;
  const application = useApplication();
  const texts = useInboxTexts();
  const address = useInboxAddress();
  const { view, opened } = address;
  const { list, state } = useConversationList(view);
  const selection = useSelection(state.rows);
  const thread = useOpenThread(opened);
  const cursor = useCursor({ rows: state.rows, thread, selection, address, isNarrow });
  const commands = useMailCommands({ list, accounts, address, selection, cursor });
  const team = useTeamCommands({ list, address, cursor, mail: commands });
  const rights = useMailRights() ?? noRights;
  const composer = useComposer(accounts);
  useEffect(() => {
    list.pinnedConversation = composer.conversation;
  }, [list, composer.conversation]);

  const setView = (next: InboxView): void => {
    selection.clear();
    cursor.clear();
    address.setView(next);
  };
  const compose = (): void => {
    const accountId = view.account ?? accounts[0]?.id;
    if (accountId !== undefined) void composer.begin({ kind: 'new', accountId });
  };
  const lastEmail = thread?.emails.findLast(({ draft }) => !draft)?.id;
  const startReply =
    (kind: 'reply' | 'replyAll' | 'forward', asAttachment = false) =>
    (): void => {
      if (opened !== null && lastEmail !== undefined)
        void composer.begin({ kind, email: lastEmail, conversation: opened, ...(asAttachment && { asAttachment }) });
    };
  const reopenDraft = (beginning: DraftOrigin): void => {
    void composer.begin(beginning);
    if ('conversation' in beginning) address.open(beginning.conversation);
  };
  const toggleSelected = (): void => {
    const id = opened ?? cursor.current;
    if (id !== null) selection.toggle(id);
  };
  const openSnooze = (): void => {
    if (cursor.targets().length > 0) openSnoozeDialog();
  };
  const writeNote = (): void => {
    const id = opened ?? cursor.current;
    if (id === null) return;
    noteForm.set(id);
    if (opened === null) cursor.open(id);
  };
  const print = (): void => {
    if (!thread) return;
    const options = { client: getClient(application), texts };
    void import('./print/print-thread.ts').then(({ printThread }) => printThread(thread, options));
  };
  const actions: InboxActions = {
    mail: commands,
    team,
    openSnooze,
    writeNote,
    openLabels: () => {
      if (cursor.targets().length > 0) openLabelDialog();
    },
    cursor,
    compose,
    startReply,
    move: openMovePicker,
    search: focusSearch,
    help: openHelp,
    select: toggleSelected,
    print,
  };
  useInboxCommands(inboxCommands(actions, rights));
  const { open } = address;
  const shown = { view, setView, opened, list, state, selection, cursor };
  const labels = selection.ids.size > 0 ? noLabels : listLabels(thread?.emails ?? []);
  return { ...shown, labels, commands, rights, composer, actions, open, reopenDraft };
}

const noLabels: readonly string[] = [];
