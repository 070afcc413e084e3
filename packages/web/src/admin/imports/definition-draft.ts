/** The definition of a new collection that is derived from a file, while the user corrects it. */
import type { Field, NewCollection } from '@tablinum/client';
import type { ColumnMapping, NewCollectionPreview } from './dto.ts';

export interface ColumnDraft {
  readonly index: number;
  /** The name of the column in the file. */
  readonly column: string;
  readonly samples: readonly string[];
  readonly isIncluded: boolean;
  /** The field with everything that was derived for it. */
  readonly field: Field;
}

export interface DefinitionDraft {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly ColumnDraft[];
}

/** The types that a column can be changed to. Choices and relations need options that the table does not show. */
export const columnTypes = [
  'string',
  'text',
  'email',
  'url',
  'phone',
  'integer',
  'bigInt',
  'decimal',
  'double',
  'boolean',
  'date',
  'time',
  'datetime',
  'json',
] as const;

/** Properties that apply to every type. */
const commonProperties = ['name', 'title', 'description', 'required'] as const;

export function createDefinitionDraft({ definition, columns }: NewCollectionPreview): DefinitionDraft {
  return {
    name: definition.name,
    title: definition.title ?? '',
    columns: columns.map(({ index, name, samples, definition: field }) => ({
      index,
      column: name,
      samples,
      isIncluded: true,
      field: field ?? { name, type: 'string' },
    })),
  };
}

/** The field with another type, without the properties of the former one. */
export function changeType(field: Field, type: string): Field {
  const kept = Object.fromEntries(commonProperties.flatMap((name) => (name in field ? [[name, field[name]]] : [])));
  const digits = type === 'decimal' ? { precision: 18, scale: 4 } : {};
  return { ...(kept as unknown as Field), type, ...digits };
}

/** The included columns, in the order of the definition. */
export function listIncluded({ columns }: DefinitionDraft): ColumnDraft[] {
  return columns.filter(({ isIncluded }) => isIncluded);
}

export function toDefinition(draft: DefinitionDraft): NewCollection {
  const { name, title } = draft;
  return {
    name,
    ...(title && { title }),
    fields: listIncluded(draft).map(({ field }) => {
      const { title: fieldTitle, ...others } = field;
      return { ...others, ...(fieldTitle && { title: fieldTitle }) };
    }),
  };
}

export function toMapping(draft: DefinitionDraft): ColumnMapping[] {
  return listIncluded(draft).map(({ index, field }) => ({ column: index, field: field.name }));
}
