/**
 * The inbox: folders, conversations, the open one, what somebody writes. What is shown stands in the address; what arrives
 * shows by itself.
 */
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef } from 'react';
import { ExplainHost } from '../data/explain-denied.tsx';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { ActivityLine } from './activity/activity-line.tsx';
import { Composer } from './compose/composer.tsx';
import type { DraftOrigin } from './compose/draft-session.ts';
import { useComposer } from './compose/use-composer.ts';
import { FolderPane } from './folders/folder-pane.tsx';
import { type InboxActions, inboxCommands, useInboxCommands } from './inbox-commands.ts';
import classes from './inbox-page.module.css';
import { getSingleFolder, type InboxView } from './inbox-search.ts';
import { KeyHelp } from './key-help.tsx';
import { ListSection } from './list/list-section.tsx';
import { useOpenThread } from './mail-queries.ts';
import type { Account, Conversation } from './mail-types.ts';
import { MovePicker } from './move-picker.tsx';
import { PageActions } from './page-actions.tsx';
import { noRights, useMailRights } from './rights.ts';
import { type ThreadCommands, ThreadPane } from './thread/thread-pane.tsx';
import { useConversationList } from './use-conversation-list.ts';
import { useCursor } from './use-cursor.ts';
import { useInboxAddress } from './use-inbox-address.ts';
import { useMailCommands } from './use-mail-commands.ts';
import { useSelection } from './use-selection.ts';

/** One pane at a time. */
const narrowWidth = '(max-width: 62em)';
/** Without the column of folders: the conversation keeps a width that text can be read in. */
const mediumWidth = '(max-width: 79em)';

export function Inbox({ accounts }: { accounts: readonly Account[] }): ReactNode {
  const t = useInboxTexts();
  const address = useInboxAddress();
  const { view, opened } = address;
  const isNarrow = useMediaQuery(narrowWidth, matchMedia(narrowWidth).matches);
  const isMedium = useMediaQuery(mediumWidth, matchMedia(mediumWidth).matches);
  const { list, state } = useConversationList(view);
  const selection = useSelection(state.rows);
  const thread = useOpenThread(opened);
  const cursor = useCursor({ rows: state.rows, thread, selection, address, isNarrow });
  const commands = useMailCommands({ list, accounts, address, selection, cursor });
  const rights = useMailRights() ?? noRights;
  const composerState = useComposer(accounts);
  const [helping, help] = useDisclosure(false);
  const [moving, move] = useDisclosure(false);
  const searchField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    list.pinnedConversation = composerState.conversation;
  }, [list, composerState.conversation]);

  const setView = (next: InboxView): void => {
    selection.clear();
    cursor.clear();
    address.setView(next);
  };
  const compose = (): void => void composerState.begin({ kind: 'new', accountId: view.account ?? accounts[0]!.id });
  const lastEmail = thread?.emails.findLast(({ draft }) => !draft)?.id;
  const startReply = (kind: 'reply' | 'replyAll' | 'forward') => (): void => {
    if (opened !== null && lastEmail !== undefined)
      void composerState.begin({ kind, email: lastEmail, conversation: opened });
  };
  const reopenDraft = (beginning: DraftOrigin): void => {
    void composerState.begin(beginning);
    if ('conversation' in beginning) address.open(beginning.conversation);
  };
  const actions = {
    mail: commands,
    cursor,
    compose,
    startReply,
    move: move.open,
    search: () => searchField.current?.focus(),
    help: help.open,
    select: () => toggleIfPresent(opened ?? cursor.current, selection.toggle),
  };
  useInboxCommands(inboxCommands(actions, rights));

  const isInThread = composerState.conversation !== null && composerState.conversation === opened;
  const { message } = composerState;
  const composer = message && (
    <Composer
      key={message.id}
      message={message}
      accounts={accounts}
      done={() => composerState.end(message)}
      reopen={reopenDraft}
    />
  );
  const title = view.starred && getSingleFolder(view) === null ? t.starred : t.folderName(view.folder ?? 'inbox');
  return (
    <Page
      filled
      title={title}
      actions={
        <PageActions
          {...{ view, setView, accounts, isNarrow, isMedium, searchField, compose }}
          help={help.open}
          mayWrite={rights.write}
        />
      }
    >
      <div className={classes.panes} data-thread={opened !== null || undefined}>
        {!isMedium && (
          <aside className={classes.folders}>
            <FolderPane accounts={accounts} view={view} setView={setView} />
          </aside>
        )}
        {(!isNarrow || opened === null) && (
          <ListSection
            {...{ list, state, accounts, view, setView, selection, cursor, commands, rights }}
            move={move.open}
          />
        )}
        {opened === null && !isNarrow && (
          <div className={classes.thread}>
            <Empty icon="mail" title={t.empty.choose} text={t.empty.chooseText} />
          </div>
        )}
        {opened !== null && (
          <div className={classes.thread}>
            <ThreadPane
              key={opened}
              id={opened}
              actions={commands.actions}
              rights={rights}
              isComposing={isInThread}
              continueDraft={(email) =>
                void composerState.begin({ kind: 'draft', email: email.id, conversation: opened })
              }
              below={() => isInThread && composer}
              commands={threadCommands(actions)}
            />
          </div>
        )}
      </div>
      <ActivityLine />
      {!isInThread && composer && <div className={classes.docked}>{composer}</div>}
      <KeyHelp opened={helping} close={help.close} />
      <MovePicker
        opened={moving}
        close={move.close}
        mailboxes={listTargetMailboxes(cursor.targets(), accounts)}
        choose={commands.moveTo}
      />
      <ExplainHost />
    </Page>
  );
}

/** What the buttons above a conversation do. */
function threadCommands({ mail, cursor, startReply, move }: InboxActions): ThreadCommands {
  return {
    close: cursor.back,
    archive: mail.archive,
    trash: mail.trash,
    move,
    unread: mail.toggleRead,
    reply: startReply('reply'),
    replyAll: startReply('replyAll'),
    forward: startReply('forward'),
    next: () => cursor.step(1),
    previous: () => cursor.step(-1),
  };
}

function toggleIfPresent(id: number | null, toggle: (id: number) => void): void {
  if (id !== null) toggle(id);
}

/** Mail stays in its account. */
function listTargetMailboxes(rows: readonly Conversation[], accounts: readonly Account[]): Account['mailboxes'] {
  const ids = new Set(rows.map(({ accountId }) => accountId));
  return accounts.filter(({ id }) => ids.size === 1 && ids.has(id)).flatMap(({ mailboxes }) => mailboxes);
}
