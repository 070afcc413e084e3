import type { NewCollection } from '@tablinum/client';
import type { CollectionOptions } from './collection-options.tsx';
import { emptyDraft, type FieldDraft, toField } from './field-draft.ts';
import { type IndexDraft, toIndexes } from './index-list.tsx';

export interface DraftedField extends FieldDraft {
  /** Identifies the field in the form: its name may change. */
  readonly id: number;
}

/** A collection while it is being defined. */
export interface CollectionDraft {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly options: CollectionOptions;
  readonly fields: readonly DraftedField[];
  readonly indexes: readonly IndexDraft[];
}

export const initialDraft: CollectionDraft = {
  name: '',
  title: '',
  description: '',
  options: { timestamps: true, authors: false, paranoid: false, logging: false },
  fields: [],
  indexes: [],
};

/** A field with the defaults of a new one and an id that no other field of the list has. */
export function createDraftedField(fields: readonly DraftedField[]): DraftedField {
  return { ...emptyDraft, id: Math.max(0, ...fields.map(({ id }) => id)) + 1 };
}

/** The request body of `collections.create`. Empty texts are left out. */
export function toNewCollection(draft: CollectionDraft): NewCollection {
  const { name, title, description, options, fields, indexes } = draft;
  return {
    name,
    ...(title && { title }),
    ...(description && { description }),
    options: { ...options, ...(indexes.length > 0 && { indexes: toIndexes(indexes) }) },
    fields: fields.map(toField),
  };
}

/**
 * The errors of one field, by property.
 *
 * @param problems error details of the whole collection, such as `{ 'fields[2].name': '…' }`.
 * @returns such as `{ name: '…' }`; null if the field has no error.
 */
export function filterFieldProblems(
  problems: Readonly<Record<string, string>>,
  index: number,
): Record<string, string> | null {
  const prefix = `fields[${index}].`;
  const entries = Object.entries(problems).filter(([errorPath]) => errorPath.startsWith(prefix));
  return entries.length > 0
    ? Object.fromEntries(entries.map(([errorPath, text]) => [errorPath.slice(prefix.length), text]))
    : null;
}
