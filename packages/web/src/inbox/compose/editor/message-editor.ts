/**
 * The rich text editor of a message. It shows and edits a document of `mailSchema`; its state is the formatting at the
 * cursor. Clipboard and dropped contents are cleaned before they are parsed, without markup ever being inserted.
 */
import { baseKeymap } from 'prosemirror-commands';
import { history, redo, undo } from 'prosemirror-history';
import { keymap } from 'prosemirror-keymap';
import { Fragment, type Node, Slice } from 'prosemirror-model';
import { splitListItem } from 'prosemirror-schema-list';
import { type Command, EditorState, type Plugin, Selection, type Transaction } from 'prosemirror-state';
import { EditorView } from 'prosemirror-view';
import { ObservableState } from '../../../ui/store.ts';
import { type CommandName, editorCommands, type Formatting, readFormatting, setLink } from './editor-commands.ts';
import { parseMessage, parsePasted, writeMessage } from './editor-html.ts';
import { mailSchema, nodeType } from './mail-schema.ts';
import { type PictureSource, PictureView } from './picture-view.ts';

export interface MessageEditorOptions {
  /** The accessible name. */
  readonly label: string;
  readonly html: string;
  readonly pictures: PictureSource;
  /** Called after each change with the HTML of the message. */
  readonly change: (html: string) => void;
  /** Called with the files that were pasted or dropped. @returns whether they are handled. */
  readonly addFiles: (files: readonly File[]) => boolean;
  /** Called when the key for a link is pressed. */
  readonly askLink: () => void;
}

/** The mark of a transaction that shows HTML from outside. */
const isExternal = 'isExternal';

export class MessageEditor extends ObservableState<Formatting> {
  readonly #options: MessageEditorOptions;
  readonly #view: EditorView;
  /** The HTML that was last reported or set, so that a change from outside is recognised. */
  #html: string;

  constructor(target: HTMLElement, options: MessageEditorOptions) {
    const state = EditorState.create({ doc: parseMessage(options.html), plugins: [history(), ...keymaps()] });
    super(readFormatting(state));
    this.#options = options;
    this.#html = options.html;
    this.#view = new EditorView(target, {
      state,
      attributes: { role: 'textbox', 'aria-multiline': 'true', 'aria-label': options.label, spellcheck: 'true' },
      dispatchTransaction: (transaction) => this.#apply(transaction),
      nodeViews: { image: (node) => new PictureView(node, options.pictures) },
      handleDOMEvents: {
        paste: (_, event) => this.#handleTransfer(event, event.clipboardData),
        drop: (_, event) => this.#handleDrop(event),
      },
      handleKeyDown: (_, event) => this.#handleKeyDown(event),
    });
  }

  /** Shows other HTML. Undo restores the previous HTML. */
  setHtml(html: string): void {
    if (html === this.#html) return;
    const { state } = this.#view;
    const { content } = parseMessage(html);
    this.#html = html;
    this.#view.dispatch(state.tr.replaceWith(0, state.doc.content.size, content).setMeta(isExternal, true));
  }

  focus(atStart = false): void {
    if (atStart) this.#view.dispatch(this.#view.state.tr.setSelection(Selection.atStart(this.#view.state.doc)));
    this.#view.focus();
  }

  run(name: CommandName): void {
    this.#runCommand(editorCommands[name]);
  }

  setLink(href: string | null): void {
    this.#runCommand(setLink(href));
  }

  /** Inserts a picture of the message at the cursor. */
  insertPicture(cid: string, alt: string, width: number | null): void {
    const { tr } = this.#view.state;
    this.#view.dispatch(tr.replaceSelectionWith(nodeType('image').create({ cid, alt, width }), false).scrollIntoView());
  }

  /** Inserts HTML at the cursor. */
  insertHtml(html: string): void {
    const { tr } = this.#view.state;
    this.#view.dispatch(tr.replaceSelection(parsePasted(html, () => false)).scrollIntoView());
    this.#view.focus();
  }

  /** Inserts text at the cursor, within its paragraph. */
  insertText(text: string): void {
    this.#view.dispatch(this.#view.state.tr.insertText(text).scrollIntoView());
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }

  #runCommand(command: Command): void {
    command(this.#view.state, this.#view.dispatch, this.#view);
    this.#view.focus();
  }

  #apply(transaction: Transaction): void {
    const before = this.#view.state;
    const next = before.apply(transaction);
    this.#view.updateState(next);
    const formatting = readFormatting(next);
    if (JSON.stringify(formatting) !== JSON.stringify(this.state)) this.replaceState(formatting);
    // A document that was set from outside is not reported back.
    if (next.doc.eq(before.doc) || transaction.getMeta(isExternal) === true) return;
    this.#html = writeMessage(next.doc);
    this.#options.change(this.#html);
  }

  #handleKeyDown(event: KeyboardEvent): boolean {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== 'k')
      return false;
    event.preventDefault();
    // The palette of the page has the same key.
    event.stopPropagation();
    this.#options.askLink();
    return true;
  }

  #handleDrop(event: DragEvent): boolean {
    // What is dragged within the editor is moved by the editor itself.
    if (this.#view.dragging) return false;
    const position = this.#view.posAtCoords({ left: event.clientX, top: event.clientY });
    if (position) {
      const { state } = this.#view;
      this.#view.dispatch(state.tr.setSelection(Selection.near(state.doc.resolve(position.pos))));
    }
    return this.#handleTransfer(event, event.dataTransfer);
  }

  /** Inserts what is pasted or dropped. The default of the editor, which would parse it as markup, never runs. */
  #handleTransfer(event: Event, transfer: DataTransfer | null): boolean {
    event.preventDefault();
    if (!transfer) return true;
    const files = [...transfer.files];
    const html = transfer.getData('text/html');
    // Office programs put a picture of the text next to its HTML.
    if (files.length > 0 && (html === '' || /^\s*(?:<meta[^>]*>)?\s*<img\b[^>]*>\s*$/i.test(html))) {
      // The composer attaches what the editor does not take.
      if (this.#options.addFiles(files)) event.stopPropagation();
      return true;
    }
    event.stopPropagation();
    const text = transfer.getData('text/plain');
    const content = html === '' ? toSlice(text) : parsePasted(html, (cid) => this.#options.pictures.has(cid));
    if (content.size > 0)
      this.#view.dispatch(this.#view.state.tr.replaceSelection(content).scrollIntoView().setMeta('uiEvent', 'paste'));
    return true;
  }
}

/** Plain text, one block for each line. */
function toSlice(text: string): Slice {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const blocks = lines.map(
    (line): Node => nodeType('paragraph').create(null, line === '' ? null : mailSchema.text(line)),
  );
  return new Slice(Fragment.from(blocks), 1, 1);
}

const insertBreak: Command = (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(nodeType('hard_break').create()).scrollIntoView());
  return true;
};

function keymaps(): Plugin[] {
  const bindings: Readonly<Record<string, Command>> = {
    'Mod-z': undo,
    'Shift-Mod-z': redo,
    'Mod-y': redo,
    'Mod-b': editorCommands.strong,
    'Mod-i': editorCommands.em,
    'Mod-u': editorCommands.underline,
    'Shift-Mod-7': editorCommands.orderedList,
    'Shift-Mod-8': editorCommands.bulletList,
    'Shift-Mod-9': editorCommands.quote,
    'Mod-]': editorCommands.indent,
    'Mod-[': editorCommands.outdent,
    'Mod-\\': editorCommands.clear,
    'Shift-Enter': insertBreak,
    Enter: splitListItem(nodeType('list_item')),
  };
  // Mod-Enter sends the message.
  const { 'Mod-Enter': _, ...base } = baseKeymap;
  return [keymap({ ...bindings }), keymap(base)];
}
