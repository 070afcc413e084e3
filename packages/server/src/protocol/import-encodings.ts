/** The encodings that a text file can be read with, and the names by which requests may give them. */
import { ApiError } from './api-error.ts';

const maxNameLength = 40;
const windowsPages = ['1250', '1251', '1252', '1253', '1254', '1255', '1256', '1257', '1258', '874'];
const latinParts = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '13', '14', '15', '16'];

/** Names as replies show them. */
export const importEncodings: readonly string[] = [
  ...['utf-8', 'utf-16le', 'utf-16be', 'us-ascii'],
  ...windowsPages.map((page) => `windows-${page}`),
  ...latinParts.map((part) => `iso-8859-${part}`),
  ...['koi8-r', 'koi8-u', 'ibm437', 'ibm850', 'ibm852', 'ibm855', 'ibm857', 'ibm866', 'macintosh', 'maccyrillic'],
  ...['shift_jis', 'euc-jp', 'gbk', 'gb18030', 'big5', 'euc-kr'],
];

/** Other usual names, without their punctuation. */
const aliases: Readonly<Record<string, string>> = {
  utf16: 'utf-16le',
  unicode: 'utf-16le',
  ucs2: 'utf-16le',
  ascii: 'us-ascii',
  latin1: 'iso-8859-1',
  latin2: 'iso-8859-2',
  latin5: 'iso-8859-9',
  latin9: 'iso-8859-15',
  ansi: 'windows-1252',
  tis620: 'windows-874',
  koi8: 'koi8-r',
  mac: 'macintosh',
  macroman: 'macintosh',
  sjis: 'shift_jis',
  windows31j: 'shift_jis',
  cp932: 'shift_jis',
  gb2312: 'gbk',
  cp936: 'gbk',
  cp949: 'euc-kr',
  ksc56011987: 'euc-kr',
  cp950: 'big5',
  ...Object.fromEntries(
    windowsPages.flatMap((page) => [`cp${page}`, `win${page}`].map((name) => [name, `windows-${page}`])),
  ),
  ...Object.fromEntries(['437', '850', '852', '855', '857', '866'].map((page) => [`cp${page}`, `ibm${page}`])),
};

const toCompactName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');
const byCompactName = new Map([
  ...Object.entries(aliases),
  ...importEncodings.map((name) => [toCompactName(name), name] as const),
]);

/**
 * The encoding that a name stands for, without regard to case and punctuation.
 *
 * @throws ApiError 400 for another one, with those that exist.
 */
export function requireImportEncoding(name: unknown): string {
  const encoding =
    typeof name === 'string' && name.length <= maxNameLength ? byCompactName.get(toCompactName(name)) : null;
  if (encoding) return encoding;
  throw new ApiError('PARAMETER_INVALID', `"encoding" must be one of: ${importEncodings.join(' ')}`);
}
