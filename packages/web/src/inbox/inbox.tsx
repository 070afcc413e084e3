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
import type { Beginning } from './compose/draft-session.ts';
import { useWriting } from './compose/use-writing.ts';
import { useOpenThread } from './data-mail.ts';
import { FolderPane } from './folders/folder-pane.tsx';
import { type InboxActs, inboxCommands, useInboxCommands } from './inbox-commands.ts';
import classes from './inbox-page.module.css';
import { folderShown, type Shown } from './inbox-search.ts';
import { KeyHelp } from './key-help.tsx';
import { ListSection } from './list/list-section.tsx';
import type { Account, Conversation } from './mail.ts';
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
  const { shown, opened } = address;
  const narrow = useMediaQuery(narrowWidth, matchMedia(narrowWidth).matches);
  const medium = useMediaQuery(mediumWidth, matchMedia(mediumWidth).matches);
  const { list, state } = useConversationList(shown);
  const selection = useSelection(state.rows);
  const thread = useOpenThread(opened);
  const cursor = useCursor({ rows: state.rows, thread, selection, address, narrow });
  const commands = useMailCommands({ list, accounts, address, selection, cursor });
  const rights = useMailRights() ?? noRights;
  const writing = useWriting(accounts);
  const [helping, help] = useDisclosure(false);
  const [moving, move] = useDisclosure(false);
  const searchField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    list.held = writing.conversation;
  }, [list, writing.conversation]);

  const show = (next: Shown): void => {
    selection.clear();
    cursor.clear();
    address.show(next);
  };
  const compose = (): void => void writing.begin({ kind: 'new', accountId: shown.account ?? accounts[0]!.id });
  const lastEmail = thread?.emails.findLast(({ draft }) => !draft)?.id;
  const answer = (kind: 'reply' | 'replyAll' | 'forward') => (): void => {
    if (opened !== null && lastEmail !== undefined)
      void writing.begin({ kind, email: lastEmail, conversation: opened });
  };
  const writeAgain = (beginning: Beginning): void => {
    void writing.begin(beginning);
    if ('conversation' in beginning) address.open(beginning.conversation);
  };
  const acts = {
    mail: commands,
    cursor,
    compose,
    answer,
    move: move.open,
    search: () => searchField.current?.focus(),
    help: help.open,
    select: () => toggleAt(opened ?? cursor.at, selection.toggle),
  };
  useInboxCommands(inboxCommands(acts, rights));

  const inThread = writing.conversation !== null && writing.conversation === opened;
  const { message } = writing;
  const composer = message && (
    <Composer
      key={message.id}
      message={message}
      accounts={accounts}
      done={() => writing.end(message)}
      again={writeAgain}
    />
  );
  const title = shown.starred && folderShown(shown) === null ? t.starred : t.folderName(shown.folder ?? 'inbox');
  return (
    <Page
      filled
      title={title}
      actions={
        <PageActions
          {...{ shown, show, accounts, narrow, medium, searchField, compose }}
          help={help.open}
          mayWrite={rights.write}
        />
      }
    >
      <div className={classes.panes} data-thread={opened !== null || undefined}>
        {!medium && (
          <aside className={classes.folders}>
            <FolderPane accounts={accounts} shown={shown} show={show} />
          </aside>
        )}
        {(!narrow || opened === null) && (
          <ListSection
            {...{ list, state, accounts, shown, show, selection, cursor, commands, rights }}
            move={move.open}
          />
        )}
        {opened === null && !narrow && (
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
              writing={inThread}
              writeOn={(email) => void writing.begin({ kind: 'draft', email: email.id, conversation: opened })}
              below={() => inThread && composer}
              commands={threadCommands(acts)}
            />
          </div>
        )}
      </div>
      <ActivityLine />
      {!inThread && composer && <div className={classes.docked}>{composer}</div>}
      <KeyHelp opened={helping} close={help.close} />
      <MovePicker
        opened={moving}
        close={move.close}
        mailboxes={mailboxesFor(cursor.targets(), accounts)}
        choose={commands.moveTo}
      />
      <ExplainHost />
    </Page>
  );
}

/** What the buttons above a conversation do. */
function threadCommands({ mail, cursor, answer, move }: InboxActs): ThreadCommands {
  return {
    close: cursor.back,
    archive: mail.archive,
    trash: mail.trash,
    move,
    unread: mail.toggleRead,
    reply: answer('reply'),
    replyAll: answer('replyAll'),
    forward: answer('forward'),
    next: () => cursor.step(1),
    previous: () => cursor.step(-1),
  };
}

function toggleAt(id: number | null, toggle: (id: number) => void): void {
  if (id !== null) toggle(id);
}

/** Mail stays in its account. */
function mailboxesFor(rows: readonly Conversation[], accounts: readonly Account[]): Account['mailboxes'] {
  const ids = new Set(rows.map(({ accountId }) => accountId));
  return accounts.filter(({ id }) => ids.size === 1 && ids.has(id)).flatMap(({ mailboxes }) => mailboxes);
}
