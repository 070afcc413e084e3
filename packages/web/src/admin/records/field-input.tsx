/** The input of one field in a form. */
import { ColorInput, MultiSelect, PasswordInput, Select, Textarea, TextInput } from '@mantine/core';
import type { Field, Key, RecordValues } from '@tablinum/client';
import { type ReactNode, useRef } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { FileInput } from '../files/file-input.tsx';
import { UnfinishedUpload } from '../files/file-values.ts';
import { InvalidInput } from './invalid-input.ts';
import { RelationSelect } from './relation-select.tsx';
import { isNumber, parseInputText, toInputText } from './value-text.ts';

interface FieldInputProps {
  readonly field: Field;
  readonly value: unknown;
  /** For a relation: the linked record. */
  readonly record?: RecordValues | null | undefined;
  readonly change: (value: unknown, record?: RecordValues | null) => void;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
}

export function FieldInput(props: FieldInputProps): ReactNode {
  const { field, value, record, change, error, disabled = false } = props;
  const t = useTexts().data.records;
  const isInvalid = value instanceof InvalidInput && !(value instanceof UnfinishedUpload);
  const isJson = ['json', 'array'].includes(field.type);
  const problem = isInvalid ? t.unreadable[isJson ? 'json' : 'number'] : error;
  const label = getTitle(field);
  if (field.type === 'belongsTo')
    return (
      <RelationSelect
        field={field}
        label={label}
        value={value as Key | null}
        record={record ?? null}
        change={change}
        error={problem}
        disabled={disabled}
      />
    );
  const shared = { label, description: field.description, error: problem, disabled, required: field.required ?? false };
  if (field.type === 'file') return <FileInput field={field} value={value} change={change} shared={shared} />;
  const input = { field, value, text: isInvalid ? value.text : toInputText(field, value), change, shared };
  if (field.type === 'boolean' || field.type === 'select') return <ChoiceInput {...input} />;
  return <TypedInput {...input} />;
}

/** Properties of every kind of input. */
export interface SharedInputProps {
  readonly label: string;
  readonly description: string | undefined;
  readonly error: string | undefined;
  readonly disabled: boolean;
  readonly required: boolean;
}

interface InputProps {
  readonly field: Field;
  readonly value: unknown;
  /** The value as text. */
  readonly text: string;
  readonly change: (value: unknown) => void;
  readonly shared: SharedInputProps;
}

/** The input of a field whose values are listed: yes or no, one choice, or several choices. */
function ChoiceInput({ field, value, text, change, shared }: InputProps): ReactNode {
  const t = useTexts().data.records;
  const choices = [...(field.enum ?? [])];
  if (field.type === 'boolean')
    return (
      <Select
        {...shared}
        data={[
          { value: 'true', label: t.yes },
          { value: 'false', label: t.no },
        ]}
        value={text || null}
        onChange={(next) => change(next === null ? null : next === 'true')}
        clearable={!field.required}
      />
    );
  if (field.multiple)
    return (
      <MultiSelect
        {...shared}
        data={choices}
        value={Array.isArray(value) ? (value as string[]) : []}
        onChange={change}
        searchable
      />
    );
  return (
    <Select {...shared} data={choices} value={text || null} onChange={change} clearable={!field.required} searchable />
  );
}

/** The input of a field whose value is typed. Text that is not a value of the field is kept as {@link InvalidInput}. */
function TypedInput({ field, value, text, change, shared }: InputProps): ReactNode {
  const t = useTexts().data.records;
  const lastValue = useRef<unknown>(null);
  const changeText = (next: string): void => {
    // The input of a time is empty while one of its parts is typed again.
    lastValue.current = value ?? lastValue.current;
    const parsed = parseInputText(field, next, lastValue.current);
    change('value' in parsed ? parsed.value : new InvalidInput(next));
  };
  const handleChange = (event: { readonly currentTarget: { readonly value: string } }): void =>
    changeText(event.currentTarget.value);
  if (field.type === 'color')
    return (
      <ColorInput
        {...shared}
        value={text}
        onChange={changeText}
        fixOnBlur={false}
        eyeDropperButtonProps={{ 'aria-label': t.pickColour }}
      />
    );
  if (field.type === 'password')
    return <PasswordInput {...shared} value={text} onChange={handleChange} autoComplete="new-password" />;
  if (['text', 'json', 'array'].includes(field.type))
    return (
      <Textarea
        {...shared}
        value={text}
        onChange={handleChange}
        autosize
        minRows={2}
        maxRows={14}
        {...(field.type !== 'text' && { ff: 'monospace', spellCheck: false })}
      />
    );
  return <TextInput {...shared} {...getInputProps(field)} value={text} onChange={handleChange} />;
}

/** The attributes that select the browser's input for a type, such as a date picker. */
export function getInputProps(field: Field): { type?: string; inputMode?: 'decimal' | 'numeric'; step?: number } {
  if (field.type === 'date' || field.dateOnly) return { type: 'date' };
  if (field.type === 'datetime') return { type: 'datetime-local', step: 1 };
  if (field.type === 'time') return { type: 'time', step: 1 };
  if (isNumber(field)) return { inputMode: field.type === 'integer' ? 'numeric' : 'decimal' };
  return {};
}
