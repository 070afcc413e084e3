import { Button, Skeleton, Textarea } from '@mantine/core';
import { type ReactNode, type Ref, useEffect, useImperativeHandle, useMemo, useRef } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import type { Attachment } from '../mail-types.ts';
import classes from './composer.module.css';
import type { DraftContent } from './draft-content.ts';
import { unwrapQuote } from './draft-html.ts';
import { DraftPictures } from './draft-pictures.ts';
import type { DraftSession } from './draft-session.ts';
import type { EditorHandle } from './editor/rich-text-editor.tsx';
import { useEditorModule } from './editor-module.ts';
import { htmlToPlainText } from './plain-text.ts';
import { QuotedOriginal } from './quoted-original.tsx';

interface MessageBodyProps {
  readonly session: DraftSession;
  readonly content: DraftContent;
  readonly textVersion: number;
  readonly attachments: readonly Attachment[];
  /** Called with pasted and dropped files. @returns whether they are handled. */
  readonly addFiles: (files: readonly File[]) => boolean;
  /** The cursor is put at the beginning of the text. */
  readonly autoFocus: boolean;
  readonly editorRef: Ref<EditorHandle>;
}

/** The text of a message: with formatting and the quoted message below it, or plain. */
export function MessageBody(props: MessageBodyProps): ReactNode {
  const { session, content, autoFocus, attachments } = props;
  if (content.html === null)
    return <PlainText {...{ session, autoFocus, editorRef: props.editorRef }} text={content.text} />;
  const { html, quote } = content;
  return (
    <>
      <RichText {...props} html={html} />
      {quote !== null && (
        <QuotedOriginal
          email={session.quotedEmail}
          html={quote}
          attachments={attachments}
          edit={() => session.rewrite({ html: html + unwrapQuote(quote), quote: null })}
          remove={() => session.write({ quote: null })}
        />
      )}
    </>
  );
}

function RichText({
  session,
  html,
  textVersion,
  addFiles,
  autoFocus,
  editorRef,
}: MessageBodyProps & { readonly html: string }): ReactNode {
  const t = useComposeTexts();
  const client = getClient(useApplication());
  const { module, error, retry } = useEditorModule();
  const pictures = useMemo(() => new DraftPictures(client, session), [client, session]);
  if (error)
    return (
      <div>
        <FormProblem error={error} />
        <Button size="compact-sm" variant="default" onClick={retry}>
          {t.retry}
        </Button>
      </div>
    );
  if (!module) return <Skeleton height={200} aria-label={t.loading} />;
  const { RichTextEditor } = module;
  return (
    <RichTextEditor
      html={html}
      version={textVersion}
      change={(next) => session.write({ html: next })}
      pictures={pictures}
      addFiles={addFiles}
      autoFocus={autoFocus}
      ref={editorRef}
    />
  );
}

interface PlainTextProps {
  readonly session: DraftSession;
  readonly text: string;
  readonly autoFocus: boolean;
  readonly editorRef: Ref<EditorHandle>;
}

function PlainText({ session, text, autoFocus, editorRef }: PlainTextProps): ReactNode {
  const t = useComposeTexts();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!autoFocus) return;
    field.current?.focus();
    field.current?.setSelectionRange(0, 0);
  }, [autoFocus]);
  useImperativeHandle(editorRef, () => {
    const insertText = (inserted: string): void => {
      const { selectionStart = 0, selectionEnd = 0, value = '' } = field.current ?? {};
      session.write({ text: value.slice(0, selectionStart) + inserted + value.slice(selectionEnd) });
      requestAnimationFrame(() => {
        const cursor = selectionStart + inserted.length;
        field.current?.focus();
        field.current?.setSelectionRange(cursor, cursor);
      });
    };
    return {
      focus: () => field.current?.focus(),
      insertPicture: () => {},
      insertHtml: (html) => insertText(htmlToPlainText(html)),
      insertText,
    };
  }, [session]);
  return (
    <Textarea
      ref={field}
      label={t.text}
      value={text}
      onChange={(event) => session.write({ text: event.currentTarget.value })}
      autosize
      minRows={7}
      maxRows={22}
      classNames={{ label: 'visually-hidden', input: classes.plain! }}
    />
  );
}
