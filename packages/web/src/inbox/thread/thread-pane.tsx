import { Badge, Button, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { PresentUser } from '@tablinum/client/realtime';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { usePresence, useRealtimeEvents } from '../../data/realtime-events.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { useStore } from '../../ui/store.ts';
import type { MailActions } from '../actions/mail-actions.ts';
import { invalidateThread, useThread } from '../mail-queries.ts';
import type { Email, Thread } from '../mail-types.ts';
import type { MailRights } from '../rights.ts';
import { ChangeLine } from '../team/change-line.tsx';
import { CustomerCard } from '../team/customer-card.tsx';
import { LabelChip } from '../team/label-dialog.tsx';
import { listLabels } from '../team/labels.ts';
import { NoteEntry } from '../team/note-entry.tsx';
import { CollisionWarning } from '../team/presence-line.tsx';
import { StateBadges } from '../team/state-badges.tsx';
import { TeamBar, type TeamBarCommands } from '../team/team-bar.tsx';
import { NewNote, noteForm } from '../team/thread-team.tsx';
import { buildTimeline } from '../team/timeline.ts';
import { useNoteActions } from '../team/use-note-actions.ts';
import { Message } from './message.tsx';
import classes from './thread-pane.module.css';

/** The commands of the buttons above a conversation, which also have keys. */
export interface ThreadCommands {
  readonly close: () => void;
  readonly archive: () => void;
  readonly trash: () => void;
  readonly move: () => void;
  readonly unread: () => void;
  readonly reply: () => void;
  readonly replyAll: () => void;
  readonly forward: () => void;
  readonly print: () => void;
  readonly next: () => void;
  readonly previous: () => void;
}

interface ThreadPaneProps {
  readonly id: number;
  readonly actions: MailActions;
  readonly rights: MailRights;
  readonly commands: ThreadCommands;
  readonly team: Omit<TeamBarCommands, 'openCustomer'>;
  /** The composer of a reply, which is shown below the messages. */
  readonly below: ReactNode;
  /** Opens a draft in the composer. */
  readonly continueDraft: (email: Email) => void;
  /** A draft of this conversation is open in the composer: drafts are not listed as messages then. */
  readonly isComposing: boolean;
}

/**
 * A conversation with its e-mails, oldest first. Read e-mails are collapsed. Opening it marks it read, if the role
 * allows that.
 */
export function ThreadPane(props: ThreadPaneProps): ReactNode {
  const { id, commands, rights, team, isComposing } = props;
  const t = useInboxTexts();
  const thread = useThread(id);
  const [isCustomerOpen, customer] = useDisclosure(false);
  const present = usePresence('conversations', id, isComposing ? 'editing' : 'viewing');
  return (
    <section className={classes.pane} aria-label={t.thread} tabIndex={-1}>
      <div className={classes.bar}>
        <IconButton icon="chevronLeft" label={t.commands.close} onClick={commands.close} className={classes.close} />
        {rights.move && <IconButton icon="archive" label={t.commands.archive} onClick={commands.archive} />}
        {rights.destroy && <IconButton icon="trash" label={t.commands.trash} onClick={commands.trash} />}
        {rights.mark && <IconButton icon="mail" label={t.commands.unread} onClick={commands.unread} />}
        {rights.move && <IconButton icon="folder" label={t.commands.move} onClick={commands.move} />}
        <span className={classes.space} />
        {rights.write && (
          <>
            <IconButton icon="reply" label={t.commands.reply} onClick={commands.reply} />
            <IconButton icon="replyAll" label={t.commands.replyAll} onClick={commands.replyAll} />
            <IconButton icon="forward" label={t.commands.forward} onClick={commands.forward} />
            <span className={classes.space} />
          </>
        )}
        <IconButton icon="printer" label={t.commands.print} onClick={commands.print} className={classes.print} />
        <IconButton icon="chevronUp" label={t.commands.previous} onClick={commands.previous} />
        <IconButton icon="chevronDown" label={t.commands.next} onClick={commands.next} />
      </div>
      {thread.data ? (
        <>
          <TeamBar
            conversation={thread.data}
            rights={rights}
            commands={{ ...team, openCustomer: customer.open }}
            present={present}
          />
          <CustomerCard thread={thread.data} opened={isCustomerOpen} close={customer.close} />
        </>
      ) : (
        <div className={classes.waitingTeam} />
      )}
      <div className={classes.scroll}>
        <QueryBoundary
          query={thread}
          permission={{ resource: 'conversations', action: 'get' }}
          waiting={<WaitingThread />}
        >
          {(loaded) => <Messages key={id} thread={loaded} present={present} {...props} />}
        </QueryBoundary>
      </div>
    </section>
  );
}

function Messages({
  thread,
  actions,
  rights,
  commands,
  below,
  continueDraft,
  isComposing,
  present,
}: ThreadPaneProps & { readonly thread: Thread; readonly present: readonly PresentUser[] }): ReactNode {
  const t = useInboxTexts();
  const [opened, setOpened] = useState(() => findInitiallyOpened(thread.emails));
  const application = useApplication();
  const refresh = (): void => invalidateThread(application, thread.id);
  // The outcome of sending changes an e-mail, but not its conversation.
  useRealtimeEvents(
    'emails',
    ({ tk: key }) => thread.emails.some(({ id }) => id === Number(key)) && refresh(),
    refresh,
  );
  // A note that is changed changes no other part of its conversation.
  useRealtimeEvents(
    'conversationNotes',
    ({ tk: key }) => thread.team.notes.some(({ id }) => id === Number(key)) && refresh(),
    () => {},
  );
  const noteActions = useNoteActions(thread.id);
  const isNoteOpen = useStore(noteForm) === thread.id;
  const hasMarkedRead = useRef(false);
  useEffect(() => {
    if (hasMarkedRead.current || !rights.mark) return;
    hasMarkedRead.current = true;
    if (thread.emails.some((each) => !each.read)) void actions.setRead([thread], true);
  }, [thread, actions, rights.mark]);
  // E-mails that arrive while the conversation is open are expanded.
  const last = thread.emails.at(-1)?.id;
  useEffect(() => {
    if (last !== undefined) setOpened((before) => new Set(before).add(last));
  }, [last]);
  const toggle = (id: number): void => {
    const next = new Set(opened);
    if (!next.delete(id)) next.add(id);
    setOpened(next);
  };
  const emails = thread.emails.filter(({ draft, folder }) => !(isComposing && draft && folder === 'drafts'));
  return (
    <div className={classes.thread}>
      <h2 className={classes.subject} dir="auto">
        {thread.subject || t.noSubject}
      </h2>
      <div className={classes.facts}>
        {thread.messages > 1 && (
          <Badge variant="light" tt="none">
            {t.messages(thread.messages)}
          </Badge>
        )}
        {[...new Set(thread.emails.flatMap(({ folder }) => folder || []))].map((folder) => (
          <Badge key={folder} variant="light" color="gray" tt="none">
            {t.folderName(folder)}
          </Badge>
        ))}
        <StateBadges conversation={thread} />
        {listLabels(thread.emails).map((label) => (
          <LabelChip key={label} label={label} />
        ))}
      </div>
      {buildTimeline(emails, thread.team).map((item) =>
        item.kind === 'note' ? (
          <NoteEntry key={`note ${item.note.id}`} account={thread.accountId} note={item.note} actions={noteActions} />
        ) : item.kind === 'change' ? (
          <ChangeLine key={`change ${item.entry.id}`} account={thread.accountId} entry={item.entry} />
        ) : (
          <Message
            key={item.email.id}
            email={item.email}
            conversation={thread.id}
            opened={opened.has(item.email.id)}
            toggle={() => toggle(item.email.id)}
            canDecideDelivery={rights.write}
            star={
              rights.mark
                ? () => void actions.setFlags(thread.id, item.email.id, { starred: !item.email.starred })
                : null
            }
            {...(rights.write &&
              item.email.draft &&
              item.email.folder === 'drafts' && { continueDraft: () => continueDraft(item.email) })}
          />
        ),
      )}
      {rights.write && !isComposing && !thread.emails.at(-1)?.draft && (
        <div className={classes.answers}>
          {(['reply', 'replyAll', 'forward'] as const).map((name) => (
            <Button key={name} variant="default" onClick={commands[name]} leftSection={<Icon name={name} />}>
              {t.commands[name]}
            </Button>
          ))}
        </div>
      )}
      {rights.note && <NewNote thread={thread} actions={noteActions} isOpen={isNoteOpen} />}
      {isComposing && <CollisionWarning present={present} />}
      {below}
    </div>
  );
}

/** The last e-mail and all unread ones. */
function findInitiallyOpened(emails: readonly Email[]): ReadonlySet<number> {
  return new Set(emails.filter(({ read }, index) => !read || index === emails.length - 1).map(({ id }) => id));
}

function WaitingThread(): ReactNode {
  const { loading } = useTexts().common;
  return (
    <output className={classes.thread} aria-label={loading}>
      <Skeleton height={22} width="60%" mb="lg" />
      <Skeleton height={36} width="40%" mb="sm" />
      <Skeleton height={14} width="90%" mb="xs" />
      <Skeleton height={14} width="82%" mb="xs" />
      <Skeleton height={14} width="86%" />
    </output>
  );
}
