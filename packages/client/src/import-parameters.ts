/** The parameters and replies of imports. */
import type { FieldDefinition } from '@tablinum/server/protocol';
import type { Key, RecordValues } from './dto.ts';

/** The file of an import: its bytes, the id of an uploaded file, or the records themselves. */
export type ImportSource =
  | { readonly content: Blob; readonly name: string }
  | { readonly file: Key }
  | { readonly records: readonly object[] };

/** Which field the cells of a column are for. */
export interface ColumnMapping {
  /** The index from 0, or the text of the header. */
  readonly column: number | string;
  readonly field: string;
  /** For a foreign key: the unique field of the related collection that the cells contain. */
  readonly lookup?: string | undefined;
}

/** How a file is read; what is absent is detected. */
export interface ImportFileOptions {
  readonly format?: 'csv' | 'xlsx' | 'json' | 'ndjson' | undefined;
  readonly encoding?: string | undefined;
  readonly delimiter?: ',' | ';' | '|' | 'tab' | undefined;
  readonly header?: boolean | undefined;
  /** The name of a sheet, or its index from 0. */
  readonly sheet?: string | number | undefined;
}

/** The options of an import; see docs/import.md. */
export interface ImportOptions extends ImportFileOptions {
  /** Default: `create`. */
  readonly mode?: 'create' | 'update' | 'upsert' | undefined;
  /** The fields by which a record is found. Default: the primary key. */
  readonly matchFields?: readonly string[] | undefined;
  /** Default: as proposed by `importPreview`. */
  readonly mapping?: readonly ColumnMapping[] | undefined;
  readonly ignoreUnknown?: boolean | undefined;
  /** Adds unknown options of select fields. */
  readonly addOptions?: boolean | undefined;
  /** Refuses invalid rows one by one instead of the whole file. */
  readonly skipInvalid?: boolean | undefined;
  /** Refused rows that a dry run lists. Default: all. */
  readonly maxErrors?: number | undefined;
  /** Waits until a long import has ended. */
  readonly wait?: boolean | undefined;
}

/** An import. */
export interface Import extends RecordValues {
  readonly id: number;
  readonly collection: string;
  readonly filename: string | null;
  readonly format: string;
  readonly mode: string;
  readonly status: 'pending' | 'running' | 'done' | 'failed' | 'cancelled';
  /** Null until it is known. */
  readonly rows: number | null;
  readonly processed: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  readonly error: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly createdAt: string;
  readonly createdById: number | null;
}

/** A problem of a row; `column` and `field` are null if it is about the whole row. */
export interface RowProblem {
  readonly column: string | null;
  readonly field: string | null;
  readonly value: string | null;
  readonly reason: string;
}

/** Why a row is refused. `others` are further problems of the row, at most nine. */
export interface RowError extends RowProblem {
  readonly line: number;
  readonly others: readonly RowProblem[];
}

/** What an import would do. */
export interface ImportDryRun {
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  /** `cells` are the texts of the row; null if there are too many errors to show them. */
  readonly errors: readonly (RowError & { readonly cells: readonly (string | null)[] | null })[];
  /** There are more errors than `maxErrors`, or than 256 MiB of them. */
  readonly truncated: boolean;
}

/** A column of a file. */
export interface ImportColumn {
  readonly index: number;
  readonly name: string;
  /** The type of its values, with its options. */
  readonly type: Readonly<Record<string, unknown>> & { readonly type: string };
  readonly samples: readonly string[];
  /** The proposed field; of a new collection, the name in its definition. */
  readonly field: string | null;
  readonly lookup: string | null;
}

/** What a file looks like. */
export interface ImportPreview {
  readonly format: 'csv' | 'xlsx' | 'json' | 'ndjson';
  readonly encoding: string | null;
  readonly delimiter: ',' | ';' | '|' | 'tab' | null;
  readonly header: boolean;
  readonly sheets: readonly string[];
  readonly sheet: string | null;
  readonly columns: readonly ImportColumn[];
  /** The texts of the first rows. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** The lines of these rows in the file. */
  readonly lines: readonly number[];
  /** Not all rows were read for the types. */
  readonly truncated: boolean;
}

/** The preview of a file for a new collection. */
export interface CollectionPreview extends ImportPreview {
  readonly columns: readonly (ImportColumn & { readonly definition: FieldDefinition })[];
  /** A body for `collections:create`. */
  readonly definition: {
    readonly name: string;
    readonly title?: string;
    readonly fields: readonly FieldDefinition[];
  };
  /** Whether the rows fit the definition of the request; absent without one. */
  readonly report?: ImportDryRun;
}

/** How a file is read for a new collection. */
export interface CollectionPreviewOptions extends ImportFileOptions {
  /** A body for `collections:create`, for which all rows are checked. */
  readonly definition?: object | undefined;
  /** Default: the proposed names. Only with `definition`. */
  readonly mapping?: readonly ColumnMapping[] | undefined;
}

/** The body of a request with a file. */
export function buildImportBody(source: ImportSource, options: object): { body: unknown; query?: object } {
  if ('file' in source) return { body: { file: source.file, ...options } };
  if ('records' in source) return { body: source.records, query: toQuery(options) };
  const form = new FormData();
  form.append('options', JSON.stringify(options));
  form.append('file', source.content, source.name);
  return { body: form };
}

function toQuery({ mapping, ...options }: { readonly mapping?: unknown }): object {
  return mapping === undefined ? options : { ...options, mapping: JSON.stringify(mapping) };
}
