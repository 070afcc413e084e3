/** Texts of pasting cells of a spreadsheet into the grid. */
const formatCount = (n: number, one: string, many: string): string =>
  n === 1 ? `1 ${one}` : `${n.toLocaleString('en')} ${many}`;

export const paste = {
  title: 'Paste cells',
  submit: 'Paste',
  submitValid: 'Paste without the invalid cells',
  changes: (n: number) => `${formatCount(n, 'record changes', 'records change')}.`,
  creates: (n: number) => `${formatCount(n, 'new record is created', 'new records are created')}.`,
  nothingValid: 'No cell can be pasted.',
  readOnlyColumns: (columns: string) => `These columns are left out, because you cannot write them here: ${columns}.`,
  skippedRows: (n: number) =>
    `${formatCount(n, 'row is left out', 'rows are left out')}: the record was deleted, or you cannot create records here.`,
  skippedColumns: (n: number) =>
    `${formatCount(n, 'column is left out', 'columns are left out')}: the list has no further columns.`,
  invalid: (n: number) => formatCount(n, 'invalid cell', 'invalid cells'),
  invalidList: 'Invalid cells',
  leftOut: 'These cells are left out. The other cells of their rows are pasted.',
  refused: 'Nothing was written. The server has refused the value of a cell.',
  more: (n: number) => `${n.toLocaleString('en')} more`,
  row: 'Row',
  column: 'Column',
  value: 'Value',
  reason: 'Reason',
  nothing: 'Nothing was pasted: the cells already have these values.',
  nothingWritable: 'Nothing was pasted: you cannot write these cells.',
  tooMany: (max: number) =>
    `At most ${max.toLocaleString('en')} rows can be pasted at once. Import larger tables from a file.`,
  done: (changed: number, created: number) =>
    `${[
      ...(changed > 0 ? [formatCount(changed, 'record updated', 'records updated')] : []),
      ...(created > 0 ? [formatCount(created, 'record created', 'records created')] : []),
    ].join(', ')}.`,
  undone: 'The paste was undone.',
  undoStale: 'The paste was not undone: one of the records has been changed since. Nothing was changed.',
  undoFailed: (message: string) => `The paste was not undone: ${message}`,
  repeated: 'The paste was repeated.',
  repeatStale: 'The paste was not repeated: one of the records has been changed since. Nothing was changed.',
  repeatFailed: (message: string) => `The paste was not repeated: ${message}`,
  button: 'Paste cells',
  empty: 'There is no text on the clipboard.',
  textTitle: 'Paste cells',
  text: 'Cells of a spreadsheet',
  textHint:
    'The browser does not let this page read the clipboard. Touch and hold the field, and paste the cells into it.',
  next: 'Continue',
  problems: {
    required: 'This field is required.',
    boolean: 'Write yes or no.',
    choice: (choices: string) => `Write one of: ${choices}.`,
    whole: 'Write a whole number.',
    number: 'Write a number, with a point before the decimals.',
    min: (min: string) => `The minimum is ${min}.`,
    max: (max: string) => `The maximum is ${max}.`,
    date: 'Write the date as 2026-11-23.',
    time: 'Write the time as 14:30.',
    dateTime: 'Write the date and time as 2026-11-23 14:30.',
    json: 'Write valid JSON.',
    array: 'Write a JSON list, such as ["a", "b"].',
    tooLong: (max: number) => `At most ${max.toLocaleString('en')} characters.`,
    noLink: (collection: string) => `${collection} has no record with this key or name that you can read.`,
    manyLinks: (collection: string) => `${collection} has several records with this name. Write the key.`,
  },
};
