import { Button, FileButton, Skeleton, Textarea, TextInput } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { FormProblem, messageOf } from '../../data/problem.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Keys } from '../../ui/keys.tsx';
import { toast } from '../../ui/toasts.tsx';
import classes from './composer.module.css';
import { type Beginning, DraftSession, type Written } from './draft-session.ts';

interface ComposerProps {
  readonly beginning: Beginning;
  /** It was sent, discarded or put aside as a draft. */
  readonly done: () => void;
  /** A message that was sent is called back: it is written on. */
  readonly again: (beginning: Beginning) => void;
}

/** A message while it is written. It is saved by itself; closing keeps the draft. */
export function Composer({ beginning, done, again }: ComposerProps): ReactNode {
  const t = useTexts().inbox.compose;
  const application = useApplication();
  const [session] = useState(() => new DraftSession(clientOf(application), beginning));
  const { written, attachments, saving, error } = useSyncExternalStore(session.subscribe, session.snapshot);
  const [sending, setSending] = useState(false);
  const [copies, setCopies] = useState(false);
  const body = useRef<HTMLTextAreaElement>(null);
  const ready = written !== null;
  const whole = useRef<HTMLElement>(null);
  useEffect(() => void session.begin(), [session]);
  useEffect(() => {
    if (!ready) return;
    whole.current?.scrollIntoView({ block: 'nearest' });
    if (beginning.kind === 'new' || beginning.kind === 'forward') return;
    body.current?.focus();
    body.current?.setSelectionRange(0, 0);
  }, [ready, beginning.kind]);
  const send = async (): Promise<void> => {
    setSending(true);
    const id = await session.send();
    setSending(false);
    if (id === null) return;
    done();
    const back = async (): Promise<void> => {
      try {
        const client = clientOf(application);
        const draft = await client.post<{ id: number; conversationId: number }>('emails:cancelSend', { id });
        again({ kind: 'draft', email: draft.id, conversation: draft.conversationId });
      } catch (refused) {
        toast(messageOf(refused), { failed: true });
      }
    };
    toast(t.sent, { action: { label: t.callBack, run: () => void back() } });
  };
  const discard = (): void => {
    done();
    session.discard().catch((refused: unknown) => toast(messageOf(refused), { failed: true }));
  };
  const close = async (): Promise<void> => {
    if (await session.save()) done();
    else if (session.snapshot().written === null || saving === 'no') done();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      void send();
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      void close();
    }
  };
  const field = (name: keyof Written) => ({
    value: written?.[name] ?? '',
    onChange: (event: { currentTarget: { value: string } }) => session.write({ [name]: event.currentTarget.value }),
  });
  return (
    <section ref={whole} className={classes.composer} aria-label={t.titles[beginning.kind]} onKeyDown={pressed}>
      <header className={classes.head}>
        <h2>{t.titles[beginning.kind]}</h2>
        <span className={classes.state} role="status">
          {saving === 'now' || saving === 'soon' ? t.saving : saving === 'saved' ? t.saved : ''}
        </span>
        <IconButton icon="x" size="md" label={t.close} onClick={() => void close()} />
      </header>
      {written === null && !error && <Skeleton height={180} />}
      {written !== null && (
        <>
          <div className={classes.line}>
            <TextInput
              className={classes.grow}
              label={t.to}
              {...field('to')}
              autoComplete="off"
              autoFocus={beginning.kind === 'new' || beginning.kind === 'forward'}
            />
            {!copies && !written.cc && !written.bcc && (
              <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setCopies(true)}>
                {t.addCopies}
              </Button>
            )}
          </div>
          {(copies || written.cc || written.bcc) && (
            <div className={classes.line}>
              <TextInput className={classes.grow} label={t.cc} {...field('cc')} autoComplete="off" />
              <TextInput className={classes.grow} label={t.bcc} {...field('bcc')} autoComplete="off" />
            </div>
          )}
          <TextInput label={t.subject} {...field('subject')} autoComplete="off" />
          <Textarea
            ref={body}
            label={t.text}
            {...field('text')}
            autosize
            minRows={7}
            maxRows={22}
            classNames={{ label: 'visually-hidden' }}
          />
        </>
      )}
      {attachments.length > 0 && (
        <ul className={classes.files}>
          {attachments.map((file) => (
            <li key={file.id}>
              <Icon name="paperclip" size={14} />
              {file.filename}
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
          loading={sending}
          disabled={!written?.to.trim()}
          leftSection={<Icon name="send" />}
          rightSection={<Keys of="mod+↵" />}
        >
          {t.send}
        </Button>
        <FileButton onChange={(file) => file && void session.attach(file)}>
          {(props) => <IconButton icon="paperclip" label={t.attach} {...props} disabled={!ready} />}
        </FileButton>
        <span className={classes.grow} />
        <IconButton icon="trash" label={t.discard} onClick={discard} />
      </footer>
    </section>
  );
}
