import type { OpenBlob } from '../../base/blob-store.ts';
import { openCsv } from './csv-source.ts';
import { detectFormat } from './detect-format.ts';
import { openJson } from './json-source.ts';
import { invalidFile } from './source-error.ts';
import type { TableOptions, TableSource } from './table-source.ts';
import { openXlsx } from './xlsx-source.ts';

/**
 * Opens a file whose rows can then be read.
 *
 * What is not given is detected from the bytes. A JSON file, and a text whose encoding is not known, is read to its end for that.
 *
 * @throws ApiError `FILE_INVALID` for a file that cannot be read, `LIMIT_EXCEEDED` for one that is too large,
 * `PARAMETER_INVALID` for an unknown encoding, delimiter or sheet. The message names the cure.
 */
export async function openTable(bytes: OpenBlob, options: TableOptions = {}): Promise<TableSource> {
  const detected = await detectFormat(bytes);
  const format = options.format ?? detected;
  if ((format === 'xlsx') !== (detected === 'xlsx'))
    throw invalidFile(
      detected === 'xlsx'
        ? `The file is an XLSX workbook, although "format" is ${format}. Leave "format" out.`
        : 'The file is not an XLSX workbook, although "format" is xlsx. Leave "format" out.',
    );
  if (format === 'xlsx') return openXlsx(bytes, options);
  return format === 'csv' ? openCsv(bytes, options) : openJson(bytes, options);
}
