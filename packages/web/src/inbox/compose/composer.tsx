import { Button, FileButton, Skeleton } from '@mantine/core';
import {
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { FormProblem, getErrorMessage } from '../../data/problem.tsx';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ShortcutKbd } from '../../ui/kbd.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail-types.ts';
import classes from './composer.module.css';
import { DraftConflict } from './draft-conflict.tsx';
import { findInvalidAddress } from './draft-content.ts';
import type { DraftOrigin } from './draft-session.ts';
import { MessageFields } from './message-fields.tsx';
import { getOpenMessage, type OpenMessage } from './open-message.ts';

interface ComposerProps {
  readonly message: OpenMessage;
  readonly accounts: readonly Account[];
  /** It was sent, discarded or put aside as a draft. */
  readonly done: () => void;
  /** A message that was sent is called back: it is written on. */
  readonly reopen: (beginning: DraftOrigin) => void;
}

/** A message while it is written. It is saved by itself; closing keeps the draft. */
export function Composer({ message, accounts, done, reopen }: ComposerProps): ReactNode {
  const t = useInboxTexts().compose;
  const application = useApplication();
  const { session, beginning } = message;
  const { kind } = beginning;
  const state = useSyncExternalStore(session.subscribe, session.snapshot);
  const { content, attachments, saving, conflict, error } = state;
  const sender = accounts.find(({ id }) => id === state.accountId);
  const [isSending, setSending] = useState(false);
  const body = useRef<HTMLTextAreaElement>(null);
  const container = useRef<HTMLElement>(null);
  const resetFileInput = useRef<() => void>(null);
  const isReady = content !== null;
  useEffect(() => {
    session.resume();
    // Whoever leaves the page has what stands here saved at once.
    return () => void session.save();
  }, [session]);
  useEffect(() => {
    if (!isReady) return;
    container.current?.scrollIntoView({ block: 'nearest' });
    if (kind === 'new' || kind === 'forward') return;
    body.current?.focus();
    body.current?.setSelectionRange(0, 0);
  }, [isReady, kind]);
  const send = async (): Promise<void> => {
    // An address that was typed, and not left yet, stands in its field.
    (document.activeElement as HTMLElement | null)?.blur();
    const now = session.snapshot().content;
    if (isSending || now === null || findInvalidAddress(now) !== null) return;
    setSending(true);
    const id = await session.send();
    setSending(false);
    if (id === null) {
      const { error: sendError } = session.snapshot();
      if (sendError && getOpenMessage(application) !== message) toast(getErrorMessage(sendError), { failed: true });
      return;
    }
    done();
    const recallMessage = async (): Promise<void> => {
      try {
        const client = getClient(application);
        const draft = await client.post<{ id: number; conversationId: number }>('emails:cancelSend', { id });
        reopen({ kind: 'draft', email: draft.id, conversation: draft.conversationId });
      } catch (sendError) {
        toast(getErrorMessage(sendError), { failed: true });
      }
    };
    toast(t.sent, { action: { label: t.undoSend, run: () => void recallMessage() } });
  };
  const discard = async (): Promise<void> => {
    const question = { title: t.discardTitle, text: t.discardText, confirmLabel: t.discardAct, danger: true };
    if (session.hasWork && !(await confirm(question))) return;
    done();
    session.discard().catch((sendError: unknown) => toast(getErrorMessage(sendError), { failed: true }));
  };
  const close = async (): Promise<void> => {
    if (await session.close()) done();
  };
  const attachOne = async (file: File): Promise<void> => {
    const attached = await session.attach(file);
    if (attached.done) return;
    toast(t.notAttached(file.name, attached.error ? getErrorMessage(attached.error) : t.unsaved), { failed: true });
  };
  const attach = (files: readonly File[]): void => {
    // Otherwise the browser tells of no choice where the same file is chosen once more.
    resetFileInput.current?.();
    for (const file of files) void attachOne(file);
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      void send();
    } else if (event.key === 'Escape' && !event.defaultPrevented) {
      event.stopPropagation();
      void close();
    }
  };
  const handleDrop = (event: DragEvent): void => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    attach([...event.dataTransfer.files]);
  };
  return (
    <section
      ref={container}
      className={classes.composer}
      aria-label={t.titles[kind]}
      onKeyDown={handleKeyDown}
      onDragOver={(event) => event.preventDefault()}
      onDrop={handleDrop}
    >
      <header className={classes.head}>
        <h2>
          {t.titles[kind]}
          {kind !== 'new' && accounts.length > 1 && sender && (
            <span className={classes.from}> {t.fromAccount(sender.address)}</span>
          )}
        </h2>
        <span className={classes.state} role="status">
          {saving === 'now' || saving === 'soon' ? t.saving : saving === 'saved' ? t.saved : ''}
        </span>
        <IconButton icon="x" size="md" label={t.close} onClick={() => void close()} />
      </header>
      {!isReady && !error && <Skeleton height={180} />}
      {conflict && <DraftConflict conflict={conflict} session={session} />}
      {isReady && (
        <MessageFields
          session={session}
          content={content}
          kind={kind}
          accounts={accounts}
          accountId={state.accountId}
          bodyRef={body}
        />
      )}
      {attachments.length > 0 && (
        <ul className={classes.files} aria-label={t.files}>
          {attachments.map((file) => (
            <li key={file.id}>
              <Icon name="paperclip" size={14} />
              <span className={classes.file}>{file.filename}</span>
              <IconButton
                icon="x"
                size="xs"
                label={t.detach(file.filename ?? '')}
                onClick={() => void session.detach(file)}
              />
            </li>
          ))}
        </ul>
      )}
      <FormProblem error={error} />
      <footer className={classes.foot}>
        <Button
          onClick={() => void send()}
          loading={isSending}
          disabled={!isReady || conflict !== null}
          leftSection={<Icon name="send" />}
          rightSection={<ShortcutKbd keys="mod+↵" />}
        >
          {t.send}
        </Button>
        <FileButton multiple onChange={attach} resetRef={resetFileInput}>
          {(props) => <IconButton icon="paperclip" label={t.attach} {...props} disabled={!isReady} />}
        </FileButton>
        <span className={classes.grow} />
        <IconButton icon="trash" label={t.discard} onClick={() => void discard()} disabled={isSending} />
      </footer>
    </section>
  );
}
