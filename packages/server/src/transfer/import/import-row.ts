/** Rows of a file before they become records: their cells as the values of fields, or why they are refused. */
import type { RefusedRow } from '../../database/import-rows.ts';
import { ApiError, type RowError, type RowProblem } from '../../protocol/api-error.ts';
import type { Body } from '../../records/record-rules.ts';
import type { ColumnField } from '../../schema/registry.ts';
import { type CellResult, showCell } from '../read/cell-value.ts';
import type { SourceCell, SourceRow } from '../read/table-source.ts';
import type { ImportColumn, ImportPlan } from './import-plan.ts';

/** A problem of a row, and the field that it is about; null: the whole row. */
interface FieldProblem {
  readonly field: string | null;
  readonly reason: string;
}

/** Why a row is refused. `others` are further problems of it, at most {@link maxOthers}. */
export interface RowRefusal extends FieldProblem {
  readonly others?: readonly FieldProblem[];
}

/** Reads a cell of a column as a value of a field. */
export type ColumnReader = (cell: SourceCell, column: number, field: ColumnField) => CellResult;

/** A row whose cells have been converted. */
export interface ImportRow {
  readonly source: SourceRow;
  /** Values by the names of fields, without those that are looked up. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The values of the columns with a lookup, in the order of the plan's columns; null is an empty cell. */
  readonly lookups: readonly { readonly column: ImportColumn; readonly value: unknown }[];
  readonly refusal: RowRefusal | null;
}

/** A row that was written. */
export interface AcceptedRow {
  readonly body: Body;
  /** Equal for rows with the same values of the match fields; null without values. */
  readonly matchKey: string | null;
}

/** What an import remembers of rows whose transaction was rolled back. Only a dry run has it. */
export interface FileMemory {
  /** Why a row contradicts an earlier one of the file; null: it does not. */
  findConflict(body: Body, matchKey: string | null): RowRefusal | null;
  /** Whether an earlier row of the file has written the record that the values of the match fields name. */
  hasWritten(matchKey: string): boolean;
  /** The body as it can be written without the earlier records of the file. */
  toWritable(body: Body): Body;
}

/** Characters of a refused value that are stored and shown. */
const maxValueLength = 200;
/** Problems of a row that are stored and shown after the first one. */
const maxOthers = 9;

/** Converts the cells of a row. */
export function toImportRow(plan: ImportPlan, source: SourceRow, readCell: ColumnReader): ImportRow {
  const { columns, mode } = plan;
  const surplus = findSurplus(plan, source);
  if (surplus) return { source, values: {}, lookups: [], refusal: surplus };
  const values: Record<string, unknown> = {};
  const lookups: { column: ImportColumn; value: unknown }[] = [];
  const problems: FieldProblem[] = [];
  for (const column of columns) {
    const cell = column.index < source.cells.length ? source.cells[column.index] : null;
    if (cell === undefined) continue;
    const read = readCell(cell, column.index, column.lookup?.field ?? column.field);
    if ('reason' in read) problems.push({ field: column.field.name, reason: read.reason });
    else if (column.lookup) lookups.push({ column, value: read.value });
    else if (read.value !== null || mode === 'update' || !hasOwnDefault(column)) values[column.field.name] = read.value;
  }
  if (problems.length > 0) return { source, values: {}, lookups: [], refusal: combineProblems(problems) };
  return { source, values, lookups, refusal: null };
}

/** The refusal of a row with a value to the right of the last column, such as a CSV row with a comma in a text without quotation marks. */
function findSurplus({ width }: ImportPlan, { cells }: SourceRow): RowRefusal | null {
  if (cells.length <= width) return null;
  const index = cells.slice(width).findIndex((cell) => (cell ?? '') !== '');
  if (index < 0) return null;
  const reason = `The row has a value in cell ${width + index + 1}, but the file has ${width} columns. A text that contains the delimiter needs quotation marks, and a column needs a name in the first row.`;
  return { field: null, reason };
}

/** The refusal of a row with at least one problem. */
function combineProblems([first, ...others]: readonly FieldProblem[]): RowRefusal {
  return { ...first!, ...(others.length > 0 && { others: others.slice(0, maxOthers) }) };
}

/** Whether a record without a value of the field gets one, and must have one: an empty cell then means no value. */
function hasOwnDefault({ field: { primaryKey, definition } }: ImportColumn): boolean {
  const { required, allowNull, defaultValue } = definition;
  return primaryKey || ((required === true || allowNull === false) && defaultValue !== undefined);
}

/** The refused row as it is stored and shown. */
export function toRefusedRow(plan: ImportPlan, { cells, line }: SourceRow, refusal: RowRefusal): RefusedRow {
  const locate = ({ field, reason }: FieldProblem): RowProblem => {
    const column = field === null ? undefined : plan.columns.find((each) => each.field.name === field);
    const text = column ? showCell(cells[column.index] ?? null) : null;
    const value = text === null ? null : text.slice(0, maxValueLength).toWellFormed();
    return { column: column?.name ?? null, field, value, reason };
  };
  return { line, ...locate(refusal), others: refusal.others?.map(locate) ?? [], cells: cells.map(showCell) };
}

/** A refused row as replies show it. */
export function toRowError({ cells: _, ...row }: RefusedRow): RowError {
  return { path: `[line ${row.line}]${row.field === null ? '' : `.${row.field}`}`, ...row };
}

/** All problems of a row in one text: `Not a number.`, or `Price: Not a number. E-mail: Not an e-mail address.` */
export function describeProblems({ others, ...first }: Omit<RefusedRow, 'line' | 'cells'>): string {
  if (others.length === 0) return first.reason;
  const describe = ({ column, field, reason }: RowProblem): string => {
    const name = column ?? field;
    return name === null ? reason : `${name}: ${reason}`;
  };
  return [first, ...others].map(describe).join(' ');
}

/** Errors that one record causes by its own values; others end the import. */
const recordErrors: ReadonlySet<string> = new Set([
  'VALUE_INVALID',
  'UNIQUE_CONFLICT',
  'REFERENCE_MISSING',
  'DEPENDANTS_EXIST',
  'NO_PERMISSION',
  'FIELD_DENIED',
  'RECORD_UNKNOWN',
  'BODY_INVALID',
  'LIMIT_EXCEEDED',
  'KEYS_EXHAUSTED',
  'DEFINITION_INVALID',
  'SYSTEM_PROTECTED',
  'ROLE_NOT_HELD',
  'EXTENSION_REFUSED',
]);

/** Whether a record can have caused an error, so that the other records can be written without it. */
export function isRecordError(error: unknown): error is ApiError {
  return error instanceof ApiError && recordErrors.has(error.code);
}

/** A detail of a list: `[3].price`, `[3].tags[1]`. */
const indexedPath = /^\[(\d+)\]\.?((\w*).*)$/s;

/** The refusals of a list of records, by their positions in it; empty if the error does not say which records caused it. */
export function findRefusals({ details = {}, code }: ApiError): ReadonlyMap<number, RowRefusal> {
  if (code !== 'VALUE_INVALID') return new Map();
  const matches = Object.entries(details).flatMap(([path, reason]) => {
    const match = indexedPath.exec(path);
    return match ? [{ index: Number(match[1]), field: match[3] || null, reason }] : [];
  });
  const byRow = Map.groupBy(matches, ({ index }) => index);
  return new Map(
    [...byRow].map(([index, found]) => [index, combineProblems(found.map(({ field, reason }) => ({ field, reason })))]),
  );
}

/** Why a record that was written on its own was refused. */
export function toRefusal({ details = {}, message }: ApiError): RowRefusal {
  const problems = Object.entries(details).map(([path, reason]) => {
    const match = indexedPath.exec(path);
    return { field: (match ? match[3] : /^\w*/.exec(path)?.[0]) || null, reason };
  });
  return combineProblems(problems.length > 0 ? problems : [{ field: null, reason: message }]);
}
