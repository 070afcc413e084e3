/** Options of select fields that a file contains and the field does not have yet. */
import type { ColumnField } from '../../schema/registry.ts';
import { showCell } from '../read/cell-value.ts';
import type { SourceRow } from '../read/table-source.ts';
import type { ImportColumn, ImportPlan } from './import-plan.ts';
import type { ColumnReader } from './import-row.ts';

/** More than a field can have, so that the change of the definition is refused. */
const maxNewOptions = 500;

/** Adds options to a field by the ordinary change of its definition. */
export type SelectOptionWriter = (collection: string, field: string, options: readonly string[]) => Promise<void>;

/** The new options of a file. */
export class NewOptions {
  readonly #columns: readonly { readonly column: ImportColumn; readonly found: Set<string> }[];

  constructor({ columns }: ImportPlan) {
    this.#columns = columns
      .filter(({ field, lookup }) => field.type.name === 'select' && lookup === null)
      .map((column) => ({ column, found: new Set() }));
  }

  collect(rows: readonly SourceRow[]): void {
    for (const { column, found } of this.#columns)
      for (const { cells } of rows)
        for (const each of listOptions(column.field, showCell(cells[column.index] ?? null)))
          if (found.size <= maxNewOptions && !column.field.definition.enum?.includes(each)) found.add(each);
  }

  /** Reads cells as if the fields already had the new options: each new option is replaced by an existing one. */
  accept(readCell: ColumnReader): ColumnReader {
    const byIndex = new Map(this.#columns.map((each) => [each.column.index, each]));
    return (cell, index, field) => {
      const read = readCell(cell, index, field);
      const found = byIndex.get(index)?.found;
      const [option = ''] = field.definition.enum ?? [];
      if (!found || 'reason' in read) return read;
      const replace = (each: unknown): unknown => (found.has(each as string) ? option : each);
      const { value } = read;
      return { value: Array.isArray(value) ? [...new Set(value.map(replace))] : replace(value) };
    };
  }

  /** The new options by field. */
  get byField(): readonly { readonly field: ColumnField; readonly options: readonly string[] }[] {
    return this.#columns
      .filter(({ found }) => found.size > 0)
      .map(({ column, found }) => ({ field: column.field, options: [...found] }));
  }
}

/** The options that a cell names: one, or of fields with several a JSON list. */
function listOptions({ definition }: ColumnField, text: string | null): readonly string[] {
  if (text === null || text === '') return [];
  if (!definition.multiple) return [text];
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((each) => typeof each === 'string' && each !== '') : [];
  } catch {
    return text
      .split(/[,;]/)
      .map((each) => each.trim())
      .filter((each) => each !== '');
  }
}

/** Adds the new options to their fields. @throws ApiError 403 without the right to change definitions. */
export async function addNewOptions(
  write: SelectOptionWriter,
  collection: string,
  { byField }: NewOptions,
): Promise<void> {
  for (const { field, options } of byField)
    await write(collection, field.name, [...(field.definition.enum ?? []), ...options]);
}
