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

interface CellEditorProps {
  readonly field: Field;
  readonly row: Row;
  /** The key that began it stands in the place of the value; null keeps the value. */
  readonly typed: string | null;
  readonly save: (value: unknown, move: 'down' | 'right' | 'left' | 'stay', record?: RecordValues | null) => void;
  readonly cancel: () => void;
}

export function CellEditor(props: CellEditorProps): ReactNode {
  const { field } = props;
  if (field.type === 'belongsTo') return <RelationEditor {...props} />;
  if (field.type === 'boolean' || (field.type === 'select' && !field.multiple)) return <ChoiceEditor {...props} />;
  return <TextEditor {...props} />;
}

function TextEditor({ field, row, typed, save, cancel }: CellEditorProps): ReactNode {
  const t = useTexts().data.records;
  const before = textOf(field, row.values[field.name]);
  const plain = inputOf(field).type === undefined;
  const [text, setText] = useState(typed !== null && plain ? typed : before);
  const [problem, setProblem] = useState<string | null>(null);
  const ended = useRef(false);
  const end = (move: 'down' | 'right' | 'left' | 'stay'): void => {
    if (ended.current) return;
    const read = readText(field, text);
    if ('problem' in read) {
      setProblem(t.unreadable[read.problem]);
      return;
    }
    ended.current = true;
    if (text === before) cancel();
    else save(read.value, move);
  };
  const pressed = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === 'Escape') {
      ended.current = true;
      cancel();
    } else if (event.key === 'Enter' && !event.shiftKey) end('down');
    else if (event.key === 'Tab') end(event.shiftKey ? 'left' : 'right');
    else return;
    event.preventDefault();
  };
  const shared = {
    'aria-label': titleOf(field),
    'aria-invalid': problem !== null,
    value: text,
    autoFocus: true,
    onKeyDown: pressed,
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
        <span role="alert" className={classes.problem}>
          {problem}
        </span>
      )}
    </>
  );
}

function ChoiceEditor({ field, row, save, cancel }: CellEditorProps): ReactNode {
  const t = useTexts().data.records;
  const before = textOf(field, row.values[field.name]);
  const choices =
    field.type === 'boolean'
      ? ([
          ['true', t.yes],
          ['false', t.no],
        ] as const)
      : (field.enum ?? []).map((each) => [each, each] as const);
  const [text, setText] = useState(before);
  const ended = useRef(false);
  const end = (move: 'down' | 'right' | 'left' | 'stay'): void => {
    if (ended.current) return;
    ended.current = true;
    if (text === before) cancel();
    else save(text === '' ? null : field.type === 'boolean' ? text === 'true' : text, move);
  };
  const pressed = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === 'Escape') {
      ended.current = true;
      cancel();
    } else if (event.key === 'Enter') end('down');
    else if (event.key === 'Tab') end(event.shiftKey ? 'left' : 'right');
    else return;
    event.preventDefault();
  };
  return (
    <select
      aria-label={titleOf(field)}
      className={classes.input}
      value={text}
      // biome-ignore lint/a11y/noAutofocus: the reader has just asked for it
      autoFocus
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={pressed}
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

function RelationEditor({ field, row, save, cancel }: CellEditorProps): ReactNode {
  const key = (row.values[field.foreignKey ?? ''] ?? null) as Key | null;
  const record = (row.values[field.name] ?? null) as RecordValues | null;
  const ended = useRef(false);
  const end = (run: () => void): void => {
    if (ended.current) return;
    ended.current = true;
    run();
  };
  const pressed = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === 'Escape') end(cancel);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears what its input passes on
    <div className={classes.relation} onKeyDown={pressed}>
      <RelationSelect
        field={field}
        name={titleOf(field)}
        value={key}
        record={record}
        change={(next, picked) => end(() => save(next, 'stay', picked))}
        open
        close={() => setTimeout(() => end(cancel), 0)}
      />
    </div>
  );
}
