/** The search parameters of the import wizards. */
export interface ImportSearch {
  /** The id of the uploaded file. */
  readonly file?: number;
}

export function parseImportSearch(search: Readonly<Record<string, unknown>>): ImportSearch {
  const file = Number(search['file']);
  return Number.isSafeInteger(file) && file > 0 ? { file } : {};
}
