import { Badge, Skeleton } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import type { MailActions } from '../actions/mail-actions.ts';
import { invalidateThread, useThread } from '../mail-queries.ts';
import type { Email, Thread } from '../mail-types.ts';
import type { MailRights } from '../rights.ts';
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
  readonly next: () => void;
  readonly previous: () => void;
}

interface ThreadPaneProps {
  readonly id: number;
  readonly actions: MailActions;
  readonly rights: MailRights;
  readonly commands: ThreadCommands;
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
  const { id, commands, rights } = props;
  const t = useInboxTexts();
  const thread = useThread(id);
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
        <IconButton icon="chevronUp" label={t.commands.previous} onClick={commands.previous} />
        <IconButton icon="chevronDown" label={t.commands.next} onClick={commands.next} />
      </div>
      <div className={classes.scroll}>
        <QueryBoundary
          query={thread}
          permission={{ resource: 'conversations', action: 'get' }}
          waiting={<WaitingThread />}
        >
          {(loaded) => <Messages key={id} thread={loaded} {...props} />}
        </QueryBoundary>
      </div>
    </section>
  );
}

function Messages({
  thread,
  actions,
  rights,
  below,
  continueDraft,
  isComposing,
}: ThreadPaneProps & { readonly thread: Thread }): ReactNode {
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
  return (
    <div className={classes.thread}>
      <h2 className={classes.subject}>{thread.subject || t.noSubject}</h2>
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
      </div>
      {thread.emails
        .filter(({ draft, folder }) => !(isComposing && draft && folder === 'drafts'))
        .map((email) => (
          <Message
            key={email.id}
            email={email}
            opened={opened.has(email.id)}
            toggle={() => toggle(email.id)}
            canDecideDelivery={rights.write}
            star={rights.mark ? () => void actions.setFlags(thread.id, email.id, { starred: !email.starred }) : null}
            {...(rights.write &&
              email.draft &&
              email.folder === 'drafts' && { continueDraft: () => continueDraft(email) })}
          />
        ))}
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
