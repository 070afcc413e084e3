/** What a file looks like, and which fields its columns could be for. */
import type { FieldDefinition } from '../../protocol/definition.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Collection } from '../../schema/registry.ts';
import { showCell } from '../read/cell-value.ts';
import type { DerivedColumn } from '../read/derive-columns.ts';
import { proposeName } from '../read/field-names.ts';
import { type ImportTable, proposeColumns } from './import-table.ts';

/** The reply to `importPreview`; see docs/import.md. */
export interface TablePreview {
  readonly format: string;
  readonly encoding: string | null;
  readonly delimiter: string | null;
  readonly header: boolean;
  readonly sheets: readonly string[];
  readonly sheet: string | null;
  readonly columns: readonly object[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** The line of each of the rows. */
  readonly lines: readonly number[];
  readonly truncated: boolean;
}

/** Characters of a cell that a preview shows. */
const maxShownLength = 200;

/** The preview of a file for a collection. */
export function previewTable(context: RecordContext, collection: Collection, imported: ImportTable): TablePreview {
  const proposed = proposeColumns(context, collection, imported.table);
  return preview(imported, (column) => {
    const { field = null, lookup = null } = proposed[column.index] ?? {};
    return { ...describeColumn(column), field, lookup };
  });
}

/** The preview of a file for a new collection: with a body for `collections:create`. */
export function previewCollection(
  { registry }: RecordContext,
  imported: ImportTable,
  filename: string | null,
): TablePreview & { readonly definition: object } {
  const { columns } = imported.derived;
  const title = (filename ?? '').replace(/\.[^.]*$/, '').trim();
  const taken = new Set(registry.all().map(({ name }) => name));
  return {
    ...preview(imported, (column) => ({
      ...describeColumn(column),
      field: column.definition.name,
      lookup: null,
      definition: column.definition,
    })),
    definition: {
      name: proposeName(title, 'records', taken),
      ...(title !== '' && { title }),
      fields: columns.map(({ definition }) => definition),
    },
  };
}

function preview({ table, derived }: ImportTable, describe: (column: DerivedColumn) => object): TablePreview {
  const { format, encoding, delimiter, hasHeader, sheets, sheet, columns } = table;
  return {
    format,
    encoding,
    delimiter: delimiter === '\t' ? 'tab' : delimiter,
    header: hasHeader,
    sheets,
    sheet,
    columns: derived.columns.map(describe),
    rows: derived.sampleRows.map(({ cells }) =>
      columns.map(
        (_, index) =>
          showCell(cells[index] ?? null)
            ?.slice(0, maxShownLength)
            .toWellFormed() ?? null,
      ),
    ),
    lines: derived.sampleRows.map(({ line }) => line),
    truncated: derived.truncated,
  };
}

/** A column with the type of its values. */
function describeColumn({ index, header, definition, samples }: DerivedColumn): object {
  const { name: _, title: __, required: ___, ...type } = definition as FieldDefinition;
  return { index, name: header, type, samples };
}
