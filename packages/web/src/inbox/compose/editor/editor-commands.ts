/** The commands of the toolbar and the keys of the editor, and the formatting at the cursor. */
import { lift, setBlockType, toggleMark, wrapIn } from 'prosemirror-commands';
import type { Attrs, NodeType, ResolvedPos } from 'prosemirror-model';
import { liftListItem, sinkListItem, wrapInList } from 'prosemirror-schema-list';
import { type Command, type EditorState, TextSelection } from 'prosemirror-state';
import { type MarkName, mailSchema, nodeType } from './mail-schema.ts';

/** The formatting at the cursor or of the selection. */
export interface Formatting {
  readonly strong: boolean;
  readonly em: boolean;
  readonly underline: boolean;
  /** The address of the link at the cursor, or null. */
  readonly link: string | null;
  /** The level of the heading, or 0. */
  readonly heading: number;
  readonly bulletList: boolean;
  readonly orderedList: boolean;
  readonly quote: boolean;
}

export type CommandName =
  | 'strong'
  | 'em'
  | 'underline'
  | 'heading1'
  | 'heading2'
  | 'bulletList'
  | 'orderedList'
  | 'quote'
  | 'clear'
  | 'indent'
  | 'outdent';

export const editorCommands: Readonly<Record<CommandName, Command>> = {
  strong: toggleMark(mailSchema.marks.strong),
  em: toggleMark(mailSchema.marks.em),
  underline: toggleMark(mailSchema.marks.underline),
  heading1: toggleHeading(1),
  heading2: toggleHeading(2),
  bulletList: toggleList(nodeType('bullet_list')),
  orderedList: toggleList(nodeType('ordered_list')),
  quote: (state, dispatch) =>
    findAncestor(state.selection.$from, nodeType('blockquote')) === null
      ? wrapIn(nodeType('blockquote'))(state, dispatch)
      : liftOut(nodeType('blockquote'))(state, dispatch),
  clear: clearFormatting,
  indent: sinkListItem(nodeType('list_item')),
  outdent: liftListItem(nodeType('list_item')),
};

export function readFormatting(state: EditorState): Formatting {
  const { $from } = state.selection;
  const list = findList($from);
  return {
    strong: hasMark(state, 'strong'),
    em: hasMark(state, 'em'),
    underline: hasMark(state, 'underline'),
    link: readLink(state),
    heading: $from.parent.type === nodeType('heading') ? ($from.parent.attrs['level'] as number) : 0,
    bulletList: list?.type === nodeType('bullet_list'),
    orderedList: list?.type === nodeType('ordered_list'),
    quote: findAncestor($from, nodeType('blockquote')) !== null,
  };
}

function hasMark({ selection, doc, storedMarks }: EditorState, name: MarkName): boolean {
  const type = mailSchema.marks[name];
  const { from, to, empty, $from } = selection;
  return empty ? type.isInSet(storedMarks ?? $from.marks()) !== undefined : doc.rangeHasMark(from, to, type);
}

function readLink({ selection, doc }: EditorState): string | null {
  const { $from, from, to, empty } = selection;
  const { link } = mailSchema.marks;
  const atCursor = link.isInSet($from.marks()) ?? link.isInSet($from.nodeAfter?.marks ?? []);
  let found = atCursor ?? null;
  if (!empty && found === null)
    doc.nodesBetween(from, to, (node) => {
      found ??= link.isInSet(node.marks) ?? null;
    });
  return found === null ? null : (found.attrs['href'] as string);
}

/**
 * Makes the selection a link, or changes the link at the cursor. Without either, the address itself is inserted.
 *
 * @param href null: removes the link.
 */
export function setLink(href: string | null): Command {
  return (state, dispatch) => {
    const { link } = mailSchema.marks;
    const { from, to } = selectLink(state) ?? state.selection;
    const { tr } = state;
    if (from === to && href !== null)
      tr.insert(from, mailSchema.text(href.replace(/^mailto:/, ''), [link.create({ href })]));
    else {
      tr.removeMark(from, to, link);
      if (href !== null) tr.addMark(from, to, link.create({ href }));
      // What is typed next follows the link, and does not replace it.
      tr.setSelection(TextSelection.create(tr.doc, to));
    }
    tr.removeStoredMark(link);
    dispatch?.(tr.scrollIntoView());
    return true;
  };
}

/** The whole link around the cursor; null if something is selected, or the cursor is in no link. */
function selectLink({ selection, doc }: EditorState): { readonly from: number; readonly to: number } | null {
  const { $from, empty } = selection;
  const mark =
    mailSchema.marks.link.isInSet($from.marks()) ?? mailSchema.marks.link.isInSet($from.nodeAfter?.marks ?? []);
  if (!empty || !mark) return null;
  const start = $from.start();
  let range: { from: number; to: number } | null = null;
  doc.nodesBetween(start, $from.end(), (node, position) => {
    if (!node.isInline || !mark.isInSet(node.marks)) return;
    const end = position + node.nodeSize;
    if (range !== null && range.to === position) range.to = end;
    else if (range === null || range.to < $from.pos) range = { from: position, to: end };
  });
  return range;
}

function toggleHeading(level: number): Command {
  return (state, dispatch) => {
    const { parent } = state.selection.$from;
    const isSet = parent.type === nodeType('heading') && parent.attrs['level'] === level;
    const attrs: Attrs | null = isSet ? null : { level };
    return setBlockType(nodeType(isSet ? 'paragraph' : 'heading'), attrs)(state, dispatch);
  };
}

function findAncestor($from: ResolvedPos, type: NodeType): { readonly depth: number; readonly type: NodeType } | null {
  for (let { depth } = $from; depth > 0; depth -= 1) if ($from.node(depth).type === type) return { depth, type };
  return null;
}

/** The innermost list around the cursor. */
function findList($from: ResolvedPos): { readonly depth: number; readonly type: NodeType } | null {
  const bullets = findAncestor($from, nodeType('bullet_list'));
  const numbers = findAncestor($from, nodeType('ordered_list'));
  if (bullets === null || numbers === null) return bullets ?? numbers;
  return bullets.depth > numbers.depth ? bullets : numbers;
}

/** Makes the selected blocks a list; a list of the same kind is dissolved, one of the other kind is converted. */
function toggleList(type: NodeType): Command {
  return (state, dispatch) => {
    const { $from } = state.selection;
    const list = findList($from);
    if (list === null) return wrapInList(type)(state, dispatch);
    if (list.type === type) return liftListItem(nodeType('list_item'))(state, dispatch);
    dispatch?.(state.tr.setNodeMarkup($from.before(list.depth), type));
    return true;
  };
}

/** Moves the selected blocks out of the innermost element of a type. */
function liftOut(type: NodeType): Command {
  return (state, dispatch) => {
    const { $from, $to } = state.selection;
    const range = $from.blockRange($to, (node) => node.type === type);
    if (range === null) return lift(state, dispatch);
    dispatch?.(state.tr.lift(range, range.depth - 1).scrollIntoView());
    return true;
  };
}

/** Removes marks, headings, lists and quotations of the selection; without a selection, of the block at the cursor. */
function clearFormatting(state: EditorState, dispatch?: Parameters<Command>[1]): boolean {
  const { $from, $to, empty } = state.selection;
  const from = empty ? $from.start() : $from.pos;
  const to = empty ? $from.end() : $to.pos;
  if (!dispatch) return true;
  const { tr } = state;
  tr.removeMark(from, to).setBlockType(from, to, nodeType('paragraph')).setStoredMarks([]);
  let current = state.apply(tr);
  const steps: Command[] = [liftListItem(nodeType('list_item')), liftOut(nodeType('blockquote'))];
  for (const step of steps)
    while (isNested(current, step === steps[0])) {
      const before = current;
      step(current, (lifted) => {
        for (const each of lifted.steps) tr.step(each);
        current = current.apply(lifted);
      });
      if (current === before) break;
    }
  dispatch(tr.scrollIntoView());
  return true;
}

function isNested({ selection: { $from } }: EditorState, isInList: boolean): boolean {
  return isInList ? findList($from) !== null : findAncestor($from, nodeType('blockquote')) !== null;
}
