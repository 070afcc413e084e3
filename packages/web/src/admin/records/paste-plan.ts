/** What a paste would write: the cells from the active one to the right and below, by the shown columns. */
import type { Field, Key, RecordValues } from '@tablinum/client';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import type { Row } from '../../data/records/row-window.ts';
import type { ImportTexts } from '../../ui/i18n/en/imports.ts';
import type { CellPosition } from './grid-navigation.ts';
import { parsePastedValue } from './pasted-value.ts';

/** Records that one paste can write. Larger tables are imported. */
export const maxPastedRows = 1000;

/** The record that a pasted text names in a relation, by its key or its label. */
export type RelationLookup = (field: Field, text: string) => { readonly key: Key } | { readonly problem: string };

/** The part of a grid that a paste is planned from. */
export interface PasteTarget {
  /** The columns of the grid. */
  readonly fields: readonly Field[];
  /** The number of rows of the list. Further rows are new records. */
  readonly count: number;
  readonly row: (index: number) => Row | undefined;
  readonly mayUpdate: (field: Field) => boolean;
  /** Whether a new record may contain the field; false for all fields if the role may not create records. */
  readonly mayCreate: (field: Field) => boolean;
}

export interface PastedCell {
  readonly field: Field;
  readonly text: string;
  readonly value: unknown;
  /** Why the cell cannot be written; null if it can. */
  readonly problem: string | null;
}

export interface PastedRow {
  /** The index in the list. */
  readonly index: number;
  /** Null for a new record. */
  readonly row: Row | null;
  /** The cells that change. */
  readonly cells: readonly PastedCell[];
}

export interface PastePlan {
  readonly rows: readonly PastedRow[];
  /** The titles of columns that cannot be written. */
  readonly readOnlyColumns: readonly string[];
  /** Rows of the clipboard that are left out, because the role may not create records or the record was deleted. */
  readonly skippedRows: number;
  /** Columns of the clipboard for which the grid has none. */
  readonly skippedColumns: number;
}

/** Without the first line if it repeats the titles of the columns, as a copy of whole rows does. */
export function dropTitles(table: readonly string[][], fields: readonly Field[], column: number): readonly string[][] {
  const isTitles = table.length > 1 && table[0]?.every((text, index) => text === titleOf(fields[column + index]));
  return isTitles ? table.slice(1) : table;
}

function titleOf(field: Field | undefined): string | null {
  return field ? getTitle(field) : null;
}

/** Plans a paste. Cells that already have the value are left out. */
export function planPaste(
  table: readonly (readonly string[])[],
  active: CellPosition,
  target: PasteTarget,
  { lookup, problems }: { readonly lookup: RelationLookup; readonly problems: ImportTexts['paste']['problems'] },
): PastePlan {
  const columns = target.fields.slice(active.column);
  const width = Math.max(0, ...table.map((cells) => cells.length));
  const rows: PastedRow[] = [];
  const readOnly = new Set<string>();
  let skippedRows = 0;
  for (const [offset, texts] of table.entries()) {
    const index = active.row + offset;
    const row = index < target.count ? (target.row(index) ?? null) : null;
    const mayWrite = row ? target.mayUpdate : target.mayCreate;
    const writable = columns.slice(0, texts.length).filter((field) => mayWrite(field));
    if ((row === null && (index < target.count || writable.length === 0)) || row?.isRemoved) {
      skippedRows += 1;
      continue;
    }
    const cells: PastedCell[] = [];
    for (const [column, text] of texts.slice(0, columns.length).entries()) {
      const field = columns[column];
      if (!field) continue;
      if (!mayWrite(field)) readOnly.add(getTitle(field));
      else cells.push(...planCell(field, text, row, { lookup, problems }));
    }
    if (cells.length > 0) rows.push({ index, row, cells });
  }
  return {
    rows,
    readOnlyColumns: [...readOnly],
    skippedRows,
    skippedColumns: Math.max(0, width - columns.length),
  };
}

/** No cell if there is nothing to write. */
function planCell(
  field: Field,
  text: string,
  row: Row | null,
  { lookup, problems }: { readonly lookup: RelationLookup; readonly problems: ImportTexts['paste']['problems'] },
): PastedCell[] {
  if (!row && text === '') return []; // the default value applies
  const isLink = field.type === 'belongsTo' && text.trim() !== '';
  const found = isLink ? lookup(field, text.trim()) : parsePastedValue(field, text, problems);
  if ('problem' in found) return [{ field, text, value: null, problem: found.problem }];
  const value = 'key' in found ? found.key : found.value;
  const isSame = row && isSameValue(row.values[getWriteName(field)], value);
  return isSame ? [] : [{ field, text, value, problem: null }];
}

function isSameValue(before: unknown, after: unknown): boolean {
  return JSON.stringify(before ?? null) === JSON.stringify(after ?? null);
}

/** One record that a paste writes. */
export interface PasteWrite {
  /** The index in the list. */
  readonly index: number;
  readonly row: Row | null;
  readonly values: RecordValues;
}

/** The writes of a plan, without its invalid cells. A new record without a required value is left out. */
export function listWrites({ rows }: PastePlan): PasteWrite[] {
  return rows.flatMap(({ index, row, cells }) => {
    const valid = cells.filter(({ problem }) => problem === null);
    const isIncomplete = row === null && cells.some(({ field, problem }) => problem !== null && field.required);
    if (valid.length === 0 || isIncomplete) return [];
    return [{ index, row, values: Object.fromEntries(valid.map((cell) => [getWriteName(cell.field), cell.value])) }];
  });
}
