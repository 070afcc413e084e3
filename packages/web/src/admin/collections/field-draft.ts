import type { Field, FieldChange } from '@tablinum/client';
import { keyOptionsByType, type OptionName, optionKinds, optionsByType, typeGroups } from './field-types.ts';

/** A field while it is edited, with its options as the form stores them. */
export interface FieldDraft {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly options: Readonly<Partial<Record<OptionName, string | boolean>>>;
}

export const emptyDraft: FieldDraft = { name: '', type: 'string', title: '', description: '', options: {} };

export function createFieldDraft(field: Field): FieldDraft {
  const options: Partial<Record<OptionName, string | boolean>> = {};
  for (const name of optionsByType[field.type] ?? []) {
    const value = field[name];
    if (value !== undefined) options[name] = toFormValue(name, value);
  }
  return {
    name: field.name,
    type: field.type,
    title: field.title ?? '',
    description: field.description ?? '',
    options,
  };
}

function toFormValue(name: OptionName, value: unknown): string | boolean {
  if (typeof value === 'boolean' && optionKinds[name] === 'truth') return value;
  if (optionKinds[name] === 'choices') return (value as string[]).join('\n');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The field definition of a draft, without empty values. */
export function toField(draft: FieldDraft): Field {
  const { name, type, title, description } = draft;
  return { name, type, ...(title && { title }), ...(description && { description }), ...parseOptions(draft) };
}

function parseOptions({ type, options }: FieldDraft): Partial<Field> {
  const parsed: Record<string, unknown> = {};
  for (const name of [...(optionsByType[type] ?? []), ...(keyOptionsByType[type] ?? [])]) {
    const value = parseOption(name, options[name], type);
    if (value !== undefined) parsed[name] = value;
  }
  return parsed;
}

/** Types whose default value is always text: "5" is not parsed as a number. */
const textTypes: ReadonlySet<string> = new Set([...typeGroups.text, ...typeGroups.moments, 'uid']);

function parseOption(name: OptionName, value: string | boolean | undefined, type: string): unknown {
  if (value === undefined || value === '') return undefined;
  const kind = optionKinds[name];
  if (typeof value === 'boolean') return name === 'allowNull' ? value : value || undefined;
  if (kind === 'whole' || kind === 'number') return Number(value);
  if (kind === 'choices')
    return value
      .split('\n')
      .map((each) => each.trim())
      .filter(Boolean);
  if (name === 'defaultValue' && textTypes.has(type)) return value;
  return kind === 'value' || kind === 'object' ? parseJsonOrText(value) : value;
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The difference between a field and its draft. Null removes an option. */
export function diffField(before: Field, draft: FieldDraft): FieldChange {
  const after = toField(draft);
  const changes: Record<string, unknown> = {};
  const names = new Set<keyof Field>([
    'type',
    'title',
    'description',
    ...(optionsByType[before.type] ?? []),
    ...(optionsByType[draft.type] ?? []),
    // The server refuses options that the new type does not have, so options that the form does not show are removed.
    ...(before.type === draft.type ? [] : (Object.keys(optionKinds) as OptionName[])),
  ]);
  for (const name of names)
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) changes[name] = after[name] ?? null;
  if (after.name !== before.name) changes['newName'] = after.name;
  return changes as FieldChange;
}
