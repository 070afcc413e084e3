import { Alert, Button, FileButton, Skeleton } from '@mantine/core';
import type { FilledTemplate } from '@tablinum/client';
import { type DragEvent, type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ShortcutKbd } from '../../ui/kbd.tsx';
import { useStore } from '../../ui/store.ts';
import type { Account } from '../mail-types.ts';
import { AttachedFiles, listAttached } from './attached-files.tsx';
import classes from './composer.module.css';
import { DraftConflict } from './draft-conflict.tsx';
import type { DraftContent } from './draft-content.ts';
import { textToHtml } from './draft-html.ts';
import type { DraftSession } from './draft-session.ts';
import type { DraftOrigin, DraftState } from './draft-state.ts';
import { isPicture } from './draft-uploads.ts';
import type { EditorHandle } from './editor/rich-text-editor.tsx';
import { FollowUpMenu } from './follow-up-menu.tsx';
import { MessageBody } from './message-body.tsx';
import { MessageFields } from './message-fields.tsx';
import type { OpenMessage } from './open-message.ts';
import { findPlaceholders } from './placeholders.ts';
import { htmlToPlainText } from './plain-text.ts';
import { ScheduleMenu } from './schedule-menu.tsx';
import { TemplatePicker } from './template-picker.tsx';
import { useFormatChoice } from './use-format-choice.ts';
import { useMessageActions } from './use-message-actions.ts';

interface ComposerProps {
  readonly message: OpenMessage;
  readonly accounts: readonly Account[];
  /** Called when the message was sent, discarded or stored as a draft. */
  readonly done: () => void;
  /** Called with the draft of a message whose sending was undone. */
  readonly reopen: (beginning: DraftOrigin) => void;
}

/** The editor of one message. Drafts are saved automatically; closing the composer keeps the draft. */
export function Composer({ message, accounts, done, reopen }: ComposerProps): ReactNode {
  const t = useInboxTexts().compose;
  const { session, beginning } = message;
  const { kind } = beginning;
  const state = useStore(session);
  const { content, textVersion, attachments, conflict, error, accountId } = state;
  const isReady = content !== null;
  const { isSending, send, discard, close, attach, attachPicture } = useMessageActions({ message, done, reopen });
  const container = useScrollIntoView(isReady);
  const editor = useRef<EditorHandle>(null);
  /** Pictures are shown in the text, other files are attached. */
  const addFiles = (files: readonly File[]): boolean => {
    for (const file of files)
      if (isPicture(file)) void attachPicture(file, (...picture) => editor.current?.insertPicture(...picture));
      else attach([file]);
    return true;
  };
  const [isPicking, setPicking] = useState(false);
  const mayUseTemplates = useMay()('mailTemplates', 'list');
  const insertTemplate = ({ subject, text, html }: FilledTemplate): void => {
    if (content === null) return;
    if (content.subject.trim() === '' && subject !== '') session.write({ subject });
    if (content.html === null) editor.current?.insertText(text ?? htmlToPlainText(html ?? ''));
    else editor.current?.insertHtml(html ?? textToHtml(text ?? ''));
  };
  useEffect(() => {
    session.resume();
    // The draft is saved at once when the user leaves the page.
    return () => void session.save();
  }, [session]);
  const handleKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      void send();
    } else if (event.key.toLowerCase() === 'l' && event.shiftKey && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      if (isReady && mayUseTemplates) setPicking(true);
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
      <ComposerHeader kind={kind} state={state} accounts={accounts} close={() => void close()} />
      {!isReady && !error && <Skeleton height={180} />}
      {conflict && <DraftConflict conflict={conflict} session={session} />}
      {isReady && <MessageFields {...{ session, content, kind, accounts, accountId }} />}
      {isReady && (
        <MessageBody
          {...{ session, content, textVersion, attachments }}
          addFiles={addFiles}
          autoFocus={kind !== 'new' && kind !== 'forward'}
          editorRef={editor}
        />
      )}
      {content && <UnfilledVariables content={content} />}
      <TemplatePicker
        opened={isPicking}
        close={() => setPicking(false)}
        accountId={accountId}
        recipient={content?.to[0]}
        conversation={'conversation' in beginning ? beginning.conversation : null}
        insert={insertTemplate}
      />
      <AttachedFiles session={session} files={listAttached(attachments, content)} />
      <FormProblem error={error} />
      <ComposerFooter
        session={session}
        content={content}
        mayBeSent={isReady && conflict === null}
        isSending={isSending}
        send={(sendAt) => void send(sendAt)}
        attach={attach}
        pickTemplate={mayUseTemplates ? () => setPicking(true) : null}
        discard={() => void discard()}
      />
    </section>
  );
}

/** Scrolls the composer into view when its content is known. */
function useScrollIntoView(isReady: boolean): RefObject<HTMLElement | null> {
  const container = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isReady) container.current?.scrollIntoView({ block: 'nearest' });
  }, [isReady]);
  return container;
}

interface ComposerHeaderProps {
  readonly kind: DraftOrigin['kind'];
  readonly state: DraftState;
  readonly accounts: readonly Account[];
  readonly close: () => void;
}

/** What kind of message it is, the account that it is sent from, and whether it is saved. */
function ComposerHeader({ kind, state, accounts, close }: ComposerHeaderProps): ReactNode {
  const t = useInboxTexts().compose;
  const { saving, conflict, accountId } = state;
  // Nothing is saved until the user resolves the conflict.
  const shown = conflict === null ? saving : 'no';
  const sender = accounts.find(({ id }) => id === accountId);
  return (
    <header className={classes.head}>
      <h2>
        {t.titles[kind]}
        {kind !== 'new' && accounts.length > 1 && sender && (
          <span className={classes.from}> {t.fromAccount(sender.address)}</span>
        )}
      </h2>
      <span className={classes.state} role="status">
        {shown === 'now' || shown === 'soon' ? t.saving : shown === 'saved' ? t.saved : ''}
      </span>
      <IconButton icon="x" size="md" label={t.close} onClick={close} />
    </header>
  );
}

/** Warns while the message contains variables of a template. */
function UnfilledVariables({ content }: { readonly content: DraftContent }): ReactNode {
  const t = useComposeTexts().templates;
  const names = findPlaceholders(content);
  if (names.length === 0) return null;
  return (
    <Alert icon={<Icon name="warning" />} color="yellow" p="xs">
      {t.unfilled(names)}
    </Alert>
  );
}

interface ComposerFooterProps {
  readonly session: DraftSession;
  /** Null until it is known. */
  readonly content: DraftContent | null;
  readonly mayBeSent: boolean;
  readonly isSending: boolean;
  readonly send: (sendAt?: string) => void;
  readonly attach: (files: readonly File[]) => void;
  /** Null if the role may not read templates. */
  readonly pickTemplate: (() => void) | null;
  readonly discard: () => void;
}

function ComposerFooter(props: ComposerFooterProps): ReactNode {
  const { session, content, mayBeSent, isSending, send, attach, pickTemplate, discard } = props;
  const t = useInboxTexts().compose;
  const texts = useComposeTexts();
  const { followUpDays } = useStore(session);
  const mayRemind = useMay()('conversations', 'update');
  const format = useFormatChoice(session, content);
  const resetFileInput = useRef<() => void>(null);
  const chooseFiles = (files: readonly File[]): void => {
    // Without the reset the browser reports no change when the same file is chosen again.
    resetFileInput.current?.();
    attach(files);
  };
  return (
    <footer className={classes.foot}>
      <Button
        onClick={() => send()}
        loading={isSending}
        disabled={!mayBeSent}
        leftSection={<Icon name="send" />}
        rightSection={<ShortcutKbd keys="mod+↵" />}
      >
        {t.send}
      </Button>
      <ScheduleMenu disabled={!mayBeSent || isSending} send={send} />
      {mayRemind && (
        <FollowUpMenu
          disabled={!mayBeSent || isSending}
          value={followUpDays}
          change={(days) => session.remindAfter(days)}
        />
      )}
      <FileButton multiple onChange={chooseFiles} resetRef={resetFileInput}>
        {(props) => <IconButton icon="paperclip" label={t.attach} {...props} disabled={content === null} />}
      </FileButton>
      {pickTemplate && (
        <IconButton icon="note" label={texts.templates.insertKey} onClick={pickTemplate} disabled={content === null} />
      )}
      <IconButton
        icon="plainText"
        label={format.isPlain ? texts.toRichText : texts.toPlainText}
        onClick={() => void format.change()}
        disabled={content === null}
      />
      <span className={classes.grow} />
      <IconButton icon="trash" label={t.discard} onClick={discard} disabled={isSending} />
    </footer>
  );
}
