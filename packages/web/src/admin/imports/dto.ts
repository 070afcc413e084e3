/** The requests and replies of imports. */
import type { Field } from '@tablinum/client';

export type ImportFormat = 'csv' | 'xlsx' | 'json' | 'ndjson';
export type ImportMode = 'create' | 'update' | 'upsert';

/** How a file is read. What is missing is detected. */
export interface SourceOptions {
  readonly format?: ImportFormat;
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly header?: boolean;
  /** The index from 0: the name of a sheet can be a number. */
  readonly sheet?: number;
}

export interface PreviewColumn {
  readonly index: number;
  readonly name: string;
  /** The first values that are not empty. */
  readonly samples: readonly string[];
  /** The proposed field; null if none is similar. */
  readonly field?: string | null;
  readonly lookup?: string | null;
  /** The derived field, in the preview for a new collection. */
  readonly definition?: Field;
}

export interface ImportPreview {
  readonly format: ImportFormat;
  readonly encoding: string | null;
  readonly delimiter: string | null;
  readonly header: boolean | null;
  readonly sheets?: readonly string[] | null;
  readonly sheet?: string | null;
  readonly columns: readonly PreviewColumn[];
  /** The first rows, as texts. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** The lines of these rows in the file. */
  readonly lines: readonly number[];
}

/** The preview for a new collection. */
export interface NewCollectionPreview extends ImportPreview {
  readonly definition: ProposedDefinition;
  /** Whether the rows fit the definition of the request; absent without one. */
  readonly report?: DryRunReport;
}

export interface ProposedDefinition {
  readonly name: string;
  readonly title?: string;
  readonly fields: readonly Field[];
}

export interface ColumnMapping {
  readonly column: number;
  readonly field: string;
  /** The unique field of the related collection by which a cell names the record. */
  readonly lookup?: string;
}

export interface ImportRequest extends SourceOptions {
  /** The id of an uploaded file. */
  readonly file: number;
  readonly mapping: readonly ColumnMapping[];
  readonly mode?: ImportMode;
  readonly matchFields?: readonly string[];
  readonly addOptions?: boolean;
  readonly skipInvalid?: boolean;
}

/** A problem of a row; `field` is null if it is about the whole row. */
export interface RowProblem {
  readonly column: string | null;
  readonly field: string | null;
  readonly value: unknown;
  readonly reason: string;
}

export interface RowError extends RowProblem {
  /** The line of the file on which the row begins; for JSON the number of the record. */
  readonly line: number;
  /** Further problems of the row. */
  readonly others: readonly RowProblem[];
  /** The texts of the row; null or absent if there are too many errors to show them. */
  readonly cells?: readonly (string | null)[] | null;
}

export interface DryRunReport {
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  readonly errors: readonly RowError[];
  /** There are more errors than listed. */
  readonly truncated: boolean;
}

export type ImportStatus = 'pending' | 'running' | 'done' | 'failed' | 'cancelled';

/** A record of the collection `imports`. */
export interface ImportRecord extends Record<string, unknown> {
  readonly id: number;
  readonly collection: string;
  readonly filename: string | null;
  readonly format: ImportFormat;
  readonly mode: ImportMode;
  readonly status: ImportStatus;
  /** Null until the file has been counted. */
  readonly rows: number | null;
  readonly processed: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  readonly error: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly createdAt: string;
}

export function isRunning({ status }: ImportRecord): boolean {
  return status === 'pending' || status === 'running';
}
