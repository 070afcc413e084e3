/** A row of the table of hostile files: the file, and the expected results of its upload and import. */

/** An imported record: its fields `name` and `note`. */
export type HostileRow = readonly [name: string | null, note: string | null];

/** The expected outcome of an import: the code of the refusal, or the records. */
export type ImportOutcome = { readonly code: string } | { readonly rows: readonly HostileRow[] };

export interface HostileFile {
  readonly label: string;
  readonly name: string;
  readonly type: string;
  readonly content: string | Uint8Array;
  /** The media type with which a browser shows the uploaded file; null: it is downloaded. */
  readonly inline: string | null;
  readonly imported: ImportOutcome;
}

/** A row of the table. */
export type HostileEntry = readonly [
  label: string,
  file: readonly [name: string, type: string, content: string | Uint8Array | Promise<Uint8Array>],
  inline: string | null,
  imported: ImportOutcome,
];

export const refused: ImportOutcome = { code: 'FILE_INVALID' };
export const tooMuch: ImportOutcome = { code: 'LIMIT_EXCEEDED' };
export const unreadable: ImportOutcome = { code: 'IMPORT_INVALID' };
export const rows = (...all: readonly HostileRow[]): ImportOutcome => ({ rows: all });
export const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const laughs = Array.from({ length: 12 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`);
/** Entities that expand to gigabytes, and one that names a file of the server. */
export const doctype = `<!DOCTYPE w [<!ENTITY l0 "ha">${laughs.join('')}<!ENTITY file SYSTEM "file:///etc/passwd">]>`;

export const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
