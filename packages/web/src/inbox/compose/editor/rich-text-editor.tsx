import 'prosemirror-view/style/prosemirror.css';
import { type ReactNode, type Ref, useEffect, useEffectEvent, useImperativeHandle, useRef, useState } from 'react';
import { useComposeTexts } from '../../../ui/i18n/compose-texts.ts';
import { EditorToolbar } from './editor-toolbar.tsx';
import { MessageEditor } from './message-editor.ts';
import type { PictureSource } from './picture-view.ts';
import classes from './rich-text-editor.module.css';

/** What the composer does with the editor. */
export interface EditorHandle {
  readonly focus: () => void;
  readonly insertPicture: (cid: string, alt: string, width: number | null) => void;
  readonly insertHtml: (html: string) => void;
  readonly insertText: (text: string) => void;
}

interface RichTextEditorProps {
  /** The accessible name; the text of a message by default. */
  readonly label?: string;
  readonly html: string;
  /** A new number means that the HTML was changed outside of the editor. */
  readonly version: number;
  readonly change: (html: string) => void;
  readonly pictures: PictureSource;
  /** Called with pasted and dropped files. @returns whether they are handled. */
  readonly addFiles: (files: readonly File[]) => boolean;
  /** Puts the cursor at the beginning of the text. */
  readonly autoFocus: boolean;
  readonly ref?: Ref<EditorHandle>;
}

/** The text of a message with its toolbar. */
export function RichTextEditor({
  label,
  html,
  version,
  change,
  pictures,
  addFiles,
  autoFocus,
  ref,
}: RichTextEditorProps): ReactNode {
  const t = useComposeTexts();
  const target = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<MessageEditor | null>(null);
  const [isLinkOpen, setLinkOpen] = useState(false);
  const latest = useRef({ change, pictures, addFiles });
  useEffect(() => {
    latest.current = { change, pictures, addFiles };
  });
  const createEditor = useEffectEvent(
    (element: HTMLElement) =>
      new MessageEditor(element, {
        label: label ?? t.text,
        html,
        pictures: { has: (cid) => latest.current.pictures.has(cid), load: (cid) => latest.current.pictures.load(cid) },
        change: (next) => latest.current.change(next),
        addFiles: (files) => latest.current.addFiles(files),
        askLink: () => setLinkOpen(true),
      }),
  );
  useEffect(() => {
    const created = createEditor(target.current!);
    setEditor(created);
    return () => created.destroy();
  }, []);
  const showHtml = useEffectEvent(() => editor?.setHtml(html));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another version replaces what is edited
  useEffect(() => showHtml(), [version]);
  useEffect(() => {
    if (autoFocus) editor?.focus(true);
  }, [editor, autoFocus]);
  useImperativeHandle(
    ref,
    () => ({
      focus: () => editor?.focus(),
      insertPicture: (...picture) => editor?.insertPicture(...picture),
      insertHtml: (inserted) => editor?.insertHtml(inserted),
      insertText: (inserted) => editor?.insertText(inserted),
    }),
    [editor],
  );
  return (
    <div className={classes.editor}>
      <div ref={target} className={classes.text} />
      {editor && <EditorToolbar {...{ editor, isLinkOpen, setLinkOpen }} />}
    </div>
  );
}
