/**
 * The inbox: folders, a list of conversations, the open conversation, and the message that is being written. The URL holds
 * what is shown; new mail appears without a reload.
 */
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useRef } from 'react';
import { ExplainHost } from '../data/explain-denied.tsx';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { useStore } from '../ui/store.ts';
import { ActivityLine } from './activity/activity-line.tsx';
import { Composer } from './compose/composer.tsx';
import { OutgoingLine } from './compose/outgoing-line.tsx';
import { FolderPane } from './folders/folder-pane.tsx';
import type { InboxActions } from './inbox-commands.ts';
import classes from './inbox-page.module.css';
import { getSingleFolder, isSearchOfAll } from './inbox-search.ts';
import { KeyHelp } from './key-help.tsx';
import { listLayout } from './list/list-layout.ts';
import { ListSection } from './list/list-section.tsx';
import type { Account, Conversation } from './mail-types.ts';
import { MovePicker } from './move-picker.tsx';
import { PageActions } from './page-actions.tsx';
import { LabelDialog } from './team/label-dialog.tsx';
import { SnoozeDialog } from './team/snooze-dialog.tsx';
import type { TeamBarCommands } from './team/team-bar.tsx';
import { type ThreadCommands, ThreadPane } from './thread/thread-pane.tsx';
import { type InboxState, useInboxState } from './use-inbox-state.ts';

/** Up to this width one pane is shown at a time. */
const narrowWidth = '(max-width: 62em)';
/** Up to this width there is no column of folders, so that the open conversation stays wide enough to be read. */
const mediumWidth = '(max-width: 79em)';

export function Inbox({ accounts }: { accounts: readonly Account[] }): ReactNode {
  const t = useInboxTexts();
  const isNarrow = useMediaQuery(narrowWidth, matchMedia(narrowWidth).matches);
  const { split } = useStore(listLayout);
  const isSinglePane = isNarrow || split === 'list';
  const isMedium = useMediaQuery(mediumWidth, matchMedia(mediumWidth).matches);
  const [isHelpOpen, help] = useDisclosure(false);
  const [isMovePickerOpen, movePicker] = useDisclosure(false);
  const [isSnoozeOpen, snoozeDialog] = useDisclosure(false);
  const [isLabelOpen, labelDialog] = useDisclosure(false);
  const searchField = useRef<HTMLInputElement>(null);
  const inbox = useInboxState({
    accounts,
    isNarrow: isSinglePane,
    openHelp: help.open,
    openMovePicker: movePicker.open,
    openSnoozeDialog: snoozeDialog.open,
    openLabelDialog: labelDialog.open,
    focusSearch: () => searchField.current?.focus(),
  });
  const { view, setView, opened, cursor, commands, rights, actions } = inbox;
  const isInThread = inbox.composer.conversation !== null && inbox.composer.conversation === opened;
  const composer = inbox.composer.message && <OpenComposer inbox={inbox} accounts={accounts} />;
  const title = isSearchOfAll(view)
    ? t.searchResults
    : view.label !== undefined && getSingleFolder(view) === null
      ? view.label
      : view.state === 'snoozed' || view.state === 'closed'
        ? t.team.views[view.state]
        : view.starred && getSingleFolder(view) === null
          ? t.starred
          : t.folderName(view.folder ?? 'inbox');
  return (
    <Page
      filled
      isHeadingHidden={isSinglePane && opened !== null}
      title={title}
      actions={
        <PageActions
          {...{ view, setView, accounts, isNarrow, isMedium, searchField }}
          compose={actions.compose}
          help={help.open}
          mayWrite={rights.write}
          open={inbox.open}
        />
      }
    >
      <div className={classes.panes} data-split={isNarrow ? 'list' : split}>
        {!isMedium && (
          <aside className={classes.folders}>
            <FolderPane accounts={accounts} view={view} setView={setView} />
          </aside>
        )}
        {(!isSinglePane || opened === null) && <ListSection inbox={inbox} accounts={accounts} isNarrow={isNarrow} />}
        <OpenThread inbox={inbox} isNarrow={isSinglePane} composer={isInThread && composer} />
      </div>
      <ActivityLine />
      <OutgoingLine />
      {!isInThread && composer && <div className={classes.docked}>{composer}</div>}
      <KeyHelp opened={isHelpOpen} close={help.close} />
      <MovePicker
        opened={isMovePickerOpen}
        close={movePicker.close}
        mailboxes={listTargetMailboxes(cursor.targets(), accounts)}
        choose={commands.moveTo}
      />
      <SnoozeDialog opened={isSnoozeOpen} close={snoozeDialog.close} choose={actions.team.snooze} />
      <LabelDialog
        opened={isLabelOpen}
        close={labelDialog.close}
        present={inbox.labels}
        apply={actions.team.changeLabels}
      />
      <ExplainHost />
    </Page>
  );
}

/** The composer of the message that is being written. */
function OpenComposer({ inbox, accounts }: { inbox: InboxState; accounts: readonly Account[] }): ReactNode {
  const { composer, reopenDraft } = inbox;
  const { message } = composer;
  return (
    message && (
      <Composer
        key={message.id}
        message={message}
        accounts={accounts}
        done={() => composer.end(message)}
        reopen={reopenDraft}
      />
    )
  );
}

interface OpenThreadProps {
  readonly inbox: InboxState;
  readonly isNarrow: boolean;
  /** The composer, if the message belongs to the open conversation. */
  readonly composer: ReactNode;
}

/** The pane of the open conversation; without one a hint, for which narrow screens have no room. */
function OpenThread({ inbox, isNarrow, composer }: OpenThreadProps): ReactNode {
  const t = useInboxTexts();
  const { opened, commands, rights, actions } = inbox;
  if (opened === null)
    return isNarrow ? null : (
      <div className={classes.thread}>
        <Empty icon="mail" title={t.empty.choose} text={t.empty.chooseText} />
      </div>
    );
  return (
    <div className={classes.thread}>
      <ThreadPane
        key={opened}
        id={opened}
        actions={commands.actions}
        rights={rights}
        isComposing={Boolean(composer)}
        continueDraft={({ id }) => void inbox.composer.begin({ kind: 'draft', email: id, conversation: opened })}
        below={composer}
        commands={threadCommands(actions)}
        team={teamCommands(actions)}
      />
    </div>
  );
}

/** The commands of the buttons above a conversation. */
function threadCommands({ mail, cursor, startReply, move, print }: InboxActions): ThreadCommands {
  return {
    close: cursor.back,
    archive: () => mail.archive(),
    trash: mail.trash,
    move,
    print,
    unread: mail.toggleRead,
    reply: startReply('reply'),
    replyAll: startReply('replyAll'),
    forward: startReply('forward'),
    next: () => cursor.step(1),
    previous: () => cursor.step(-1),
  };
}

/** The commands of the bar with the state of a conversation. */
function teamCommands({
  team,
  openSnooze,
  openLabels,
  writeNote,
}: InboxActions): Omit<TeamBarCommands, 'openCustomer'> {
  const { toggleDone, toggleMute, assign } = team;
  return { toggleDone, toggleMute, assign, openSnooze, openLabels, writeNote };
}

/** The mailboxes that all of the conversations can be moved to: mail cannot be moved to another account. */
function listTargetMailboxes(rows: readonly Conversation[], accounts: readonly Account[]): Account['mailboxes'] {
  const ids = new Set(rows.map(({ accountId }) => accountId));
  return accounts.filter(({ id }) => ids.size === 1 && ids.has(id)).flatMap(({ mailboxes }) => mailboxes);
}
