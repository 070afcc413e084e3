/** The editor of a cell. Enter saves and moves down, Tab saves and moves right, Escape cancels. */
import type { Field, Key, RecordValues } from '@tablinum/client';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { getTitle } from '../../data/field-names.ts';
import type { Row } from '../../data/records/row-window.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import classes from './cell-editor.module.css';
import type { CellWrite } from './cell-write.ts';
import { getInputProps } from './field-input.tsx';
import { RelationSelect } from './relation-select.tsx';
import { parseInputText, toInputText } from './value-text.ts';

/** The direction in which the grid moves after an edit. */
export type Move = 'down' | 'right' | 'left' | 'stay';

interface CellEditorProps {
  readonly field: Field;
  readonly row: Row;
  /** The key that opened the editor and replaces the value; null keeps the value. */
  readonly typed: string | null;
  readonly save: (write: CellWrite, move: Move) => void;
  readonly cancel: () => void;
}

export function CellEditor(props: CellEditorProps): ReactNode {
  const { field } = props;
  if (field.type === 'belongsTo') return <RelationEditor {...props} />;
  if (field.type === 'boolean' || (field.type === 'select' && !field.multiple)) return <ChoiceEditor {...props} />;
  return <TextEditor {...props} />;
}

/** Focuses the input when it is mounted. */
function focusEditor(element: HTMLElement | null): void {
  positionEditor(element);
  element?.focus({ preventScroll: true });
}

/** Opens the editor upwards if it would be cut off at the lower edge of the grid. */
function positionEditor(element: HTMLElement | null): void {
  const grid = element?.closest('[role=grid]');
  if (!element || !grid) return;
  if (element.getBoundingClientRect().bottom > grid.getBoundingClientRect().bottom) element.dataset['up'] = 'true';
}

/** Runs only the first callback: an editor that is removed also fires blur. */
function useRunOnce(): (run: () => void) => void {
  const ended = useRef(false);
  return (run) => {
    if (ended.current) return;
    ended.current = true;
    run();
  };
}

/** Handles the keys that end an edit. Other keys are left to the input. */
function createKeyHandler(cancel: () => void, end: (move: Move) => void): (event: KeyboardEvent) => void {
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
  const initialText = toInputText(field, row.values[field.name]);
  const isPlainInput = getInputProps(field).type === undefined;
  const [text, setText] = useState(typed !== null && isPlainInput ? typed : initialText);
  const [problem, setProblem] = useState<string | null>(null);
  const runOnce = useRunOnce();
  const end = (move: Move): void => {
    const parsed = parseInputText(field, text, row.values[field.name]);
    if ('problem' in parsed) setProblem(t.unreadable[parsed.problem]);
    else runOnce(() => (text === initialText ? cancel() : save({ value: parsed.value }, move)));
  };
  const shared = {
    ref: focusEditor,
    'aria-label': getTitle(field),
    'aria-invalid': problem !== null,
    value: text,
    onKeyDown: createKeyHandler(() => runOnce(cancel), end),
    onBlur: () => end('stay'),
  };
  const isLong = ['text', 'json', 'array'].includes(field.type);
  return (
    <>
      {isLong ? (
        <textarea
          {...shared}
          className={classes.long}
          rows={6}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          {...getInputProps(field)}
          className={classes.input}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {problem && (
        <span role="alert" ref={positionEditor} className={classes.problem}>
          {problem}
        </span>
      )}
    </>
  );
}

function ChoiceEditor({ field, row, save, cancel }: CellEditorProps): ReactNode {
  const t = useTexts().data.records;
  const initialText = toInputText(field, row.values[field.name]);
  const choices: readonly (readonly [value: string, label: string])[] =
    field.type === 'boolean'
      ? [
          ['true', t.yes],
          ['false', t.no],
        ]
      : (field.enum ?? []).map((each) => [each, each]);
  const [text, setText] = useState(initialText);
  const runOnce = useRunOnce();
  const end = (move: Move): void =>
    runOnce(() => {
      const parsed = parseInputText(field, text);
      if (text === initialText || 'problem' in parsed) cancel();
      else save({ value: parsed.value }, move);
    });
  return (
    <select
      ref={focusEditor}
      aria-label={getTitle(field)}
      className={classes.input}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={createKeyHandler(() => runOnce(cancel), end)}
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
  const runOnce = useRunOnce();
  return (
    <div className={classes.relation}>
      <RelationSelect
        field={field}
        name={getTitle(field)}
        value={key}
        record={record}
        change={(next, picked) => runOnce(() => save({ value: next, record: picked }, 'stay'))}
        open
        typed={typed}
        close={() => setTimeout(() => runOnce(cancel), 0)}
        keys={(event) => {
          event.stopPropagation();
          // Enter without a search text or a marked option keeps the link.
          if (event.key === 'Escape' || (event.key === 'Enter' && !hasMarkedOption(event.currentTarget)))
            runOnce(cancel);
        }}
      />
    </div>
  );
}

function hasMarkedOption(input: Element): boolean {
  const list = document.getElementById(input.getAttribute('aria-controls') ?? '');
  return list?.querySelector('[data-combobox-selected]') != null;
}
