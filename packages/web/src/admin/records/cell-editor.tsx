/** The input in the place of a cell: Enter saves and goes down, Tab saves and goes on, Escape leaves the value. */
import type { Field, Key, RecordValues } from '@tablinum/client';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import type { Row } from '../../data/records/row-window.ts';
import { titleOf } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import classes from './cell-editor.module.css';
import { inputOf } from './field-input.tsx';
import { RelationSelect } from './relation-select.tsx';
import { readText, textOf } from './value-text.ts';

/** Where the grid goes on after an edit. */
export type Move = 'down' | 'right' | 'left' | 'stay';

interface CellEditorProps {
  readonly field: Field;
  readonly row: Row;
  /** The key that began it stands in the place of the value; null keeps the value. */
  readonly typed: string | null;
  readonly save: (value: unknown, move: Move, record?: RecordValues | null) => void;
  readonly cancel: () => void;
}

export function CellEditor(props: CellEditorProps): ReactNode {
  const { field } = props;
  if (field.type === 'belongsTo') return <RelationEditor {...props} />;
  if (field.type === 'boolean' || (field.type === 'select' && !field.multiple)) return <ChoiceEditor {...props} />;
  return <TextEditor {...props} />;
}

/** The input has the focus from its first moment on. */
function focusIt(element: HTMLElement | null): void {
  placeIt(element);
  element?.focus({ preventScroll: true });
}

/** What would be cut off at the lower edge of the grid opens upwards. */
function placeIt(element: HTMLElement | null): void {
  const grid = element?.closest('[role=grid]');
  if (!element || !grid) return;
  if (element.getBoundingClientRect().bottom > grid.getBoundingClientRect().bottom) element.dataset['up'] = 'true';
}

/** Runs once: an editor that goes loses its focus too. */
function useOnce(): (run: () => void) => void {
  const ended = useRef(false);
  return (run) => {
    if (ended.current) return;
    ended.current = true;
    run();
  };
}

/** What the keys of an editor do; others are its own. */
function editorKeys(cancel: () => void, end: (move: Move) => void): (event: KeyboardEvent) => void {
  return (event) => {
    event.stopPropagation();
    if (event.key === 'Escape') cancel();
    else if (event.key === 'Enter' && !event.shiftKey) end('down');
    else if (event.key === 'Tab') end(event.shiftKey ? 'left' : 'right');
    else return;
    event.preventDefault();
  };
}

function TextEditor({ field, row, typed, save, cancel }: CellEditorProps): ReactNode {
  const t = useTexts().data.records;
  const before = textOf(field, row.values[field.name]);
  const plain = inputOf(field).type === undefined;
  const [text, setText] = useState(typed !== null && plain ? typed : before);
  const [problem, setProblem] = useState<string | null>(null);
  const once = useOnce();
  const end = (move: Move): void => {
    const read = readText(field, text);
    if ('problem' in read) setProblem(t.unreadable[read.problem]);
    else once(() => (text === before ? cancel() : save(read.value, move)));
  };
  const shared = {
    ref: focusIt,
    'aria-label': titleOf(field),
    'aria-invalid': problem !== null,
    value: text,
    onKeyDown: editorKeys(() => once(cancel), end),
    onBlur: () => end('stay'),
  };
  const long = field.type === 'text' || field.type === 'json' || field.type === 'array';
  return (
    <>
      {long ? (
        <textarea
          {...shared}
          className={classes.long}
          rows={6}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          {...inputOf(field)}
          className={classes.input}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {problem && (
        <span role="alert" ref={placeIt} className={classes.problem}>
          {problem}
        </span>
      )}
    </>
  );
}

function ChoiceEditor({ field, row, save, cancel }: CellEditorProps): ReactNode {
  const t = useTexts().data.records;
  const before = textOf(field, row.values[field.name]);
  const choices: readonly (readonly [value: string, label: string])[] =
    field.type === 'boolean'
      ? [
          ['true', t.yes],
          ['false', t.no],
        ]
      : (field.enum ?? []).map((each) => [each, each]);
  const [text, setText] = useState(before);
  const once = useOnce();
  const end = (move: Move): void =>
    once(() => {
      const read = readText(field, text);
      if (text === before || 'problem' in read) cancel();
      else save(read.value, move);
    });
  return (
    <select
      ref={focusIt}
      aria-label={titleOf(field)}
      className={classes.input}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={editorKeys(() => once(cancel), end)}
      onBlur={() => end('stay')}
    >
      {!field.required && <option value="">{t.empty}</option>}
      {choices.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

function RelationEditor({ field, row, typed, save, cancel }: CellEditorProps): ReactNode {
  const key = (row.values[field.foreignKey ?? ''] ?? null) as Key | null;
  const record = (row.values[field.name] ?? null) as RecordValues | null;
  const once = useOnce();
  return (
    <div className={classes.relation}>
      <RelationSelect
        field={field}
        name={titleOf(field)}
        value={key}
        record={record}
        change={(next, picked) => once(() => save(next, 'stay', picked))}
        open
        typed={typed}
        close={() => setTimeout(() => once(cancel), 0)}
        keys={(event) => {
          event.stopPropagation();
          // Enter before anything is searched for or marked keeps the link.
          if (event.key === 'Escape' || (event.key === 'Enter' && !hasMarkedOption(event.currentTarget))) once(cancel);
        }}
      />
    </div>
  );
}

function hasMarkedOption(input: Element): boolean {
  const list = document.getElementById(input.getAttribute('aria-controls') ?? '');
  return list?.querySelector('[data-combobox-selected]') != null;
}
