/** The input of one field in a form. What it holds is a text until it is sent, except where a choice is made. */
import { ColorInput, MultiSelect, PasswordInput, Select, Textarea, TextInput } from '@mantine/core';
import type { Field, Key, RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { RelationSelect } from './relation-select.tsx';
import { isNumber, parseInputText, toInputText } from './value-text.ts';

interface FieldInputProps {
  readonly field: Field;
  readonly value: unknown;
  /** Under a relation: the linked record. */
  readonly record?: RecordValues | null | undefined;
  readonly change: (value: unknown, record?: RecordValues | null) => void;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
}

/** A text that stands for no value of its field: kept as it was typed, and refused when it is sent. */
export class InvalidInput {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export function FieldInput({ field, value, record, change, error, disabled = false }: FieldInputProps): ReactNode {
  const t = useTexts().data.records;
  const label = getTitle(field);
  const problem =
    value instanceof InvalidInput
      ? t.unreadable[field.type === 'json' || field.type === 'array' ? 'json' : 'number']
      : error;
  const shared = { label, description: field.description, error: problem, disabled, required: field.required ?? false };
  const text = value instanceof InvalidInput ? value.text : toInputText(field, value);
  const changeText = (next: string): void => {
    const parsed = parseInputText(field, next);
    change('value' in parsed ? parsed.value : new InvalidInput(next));
  };
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
  if (field.type === 'select' && field.multiple)
    return (
      <MultiSelect
        {...shared}
        data={[...(field.enum ?? [])]}
        value={Array.isArray(value) ? (value as string[]) : []}
        onChange={(next) => change(next)}
        searchable
      />
    );
  if (field.type === 'select')
    return (
      <Select
        {...shared}
        data={[...(field.enum ?? [])]}
        value={text || null}
        onChange={(next) => change(next)}
        clearable={!field.required}
        searchable
      />
    );
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
    return (
      <PasswordInput
        {...shared}
        value={text}
        onChange={(event) => changeText(event.currentTarget.value)}
        autoComplete="new-password"
      />
    );
  if (field.type === 'text' || field.type === 'json' || field.type === 'array')
    return (
      <Textarea
        {...shared}
        value={text}
        onChange={(event) => changeText(event.currentTarget.value)}
        autosize
        minRows={2}
        maxRows={14}
        {...(field.type !== 'text' && { ff: 'monospace', spellCheck: false })}
      />
    );
  return (
    <TextInput
      {...shared}
      {...getInputProps(field)}
      value={text}
      onChange={(event) => changeText(event.currentTarget.value)}
    />
  );
}

/** The kind of the browser's own input. */
export function getInputProps(field: Field): { type?: string; inputMode?: 'decimal' | 'numeric'; step?: number } {
  if (field.type === 'date' || field.dateOnly) return { type: 'date' };
  if (field.type === 'datetime') return { type: 'datetime-local', step: 1 };
  if (field.type === 'time') return { type: 'time', step: 1 };
  if (isNumber(field)) return { inputMode: field.type === 'integer' ? 'numeric' : 'decimal' };
  return {};
}
