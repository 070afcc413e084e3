/** The parameters of an export that describe the format of its file. The other parameters are those of a list. */
import { ApiError } from './api-error.ts';
import { exportFileParameters, readBoolean } from './request-normaliser.ts';

export const exportFormats = ['csv', 'xlsx', 'json', 'ndjson'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The content of the first line. */
export const exportHeaders = ['names', 'titles'] as const;

/** The delimiters of CSV, by the values of the parameter. `tab` needs no escape in a URL. */
export const csvDelimiters = { ',': ',', ';': ';', '|': '|', tab: '\t' } as const;

export interface ExportOptions {
  readonly format: ExportFormat;
  readonly header: (typeof exportHeaders)[number];
  /** The file begins with a byte order mark, by which Excel recognises UTF-8. */
  readonly bom: boolean;
  readonly delimiter: string;
  /** Date-times are in the time zone of the request instead of UTC. */
  readonly localTimes: boolean;
}

type Parameters = Readonly<Record<string, unknown>>;

/** The formats that a parameter is for, if not for all. */
const formatsByParameter: Readonly<Record<string, readonly ExportFormat[]>> = {
  header: ['csv', 'xlsx'],
  localTimes: ['csv', 'xlsx'],
  bom: ['csv'],
  delimiter: ['csv'],
};

/** @throws ApiError 400 naming the parameter. */
export function parseExportOptions(parameters: Parameters): ExportOptions {
  const format = readChoice('format', parameters['format'], exportFormats);
  for (const [name, formats] of Object.entries(formatsByParameter))
    if (parameters[name] !== undefined && !formats.includes(format))
      throw new ApiError(
        'PARAMETER_INVALID',
        `"${name}" only applies to the format ${formats.join(' or ')}. Remove it, or change "format".`,
      );
  const delimiters = Object.keys(csvDelimiters) as (keyof typeof csvDelimiters)[];
  return {
    format,
    header: readChoice('header', parameters['header'], exportHeaders),
    bom: readBoolean('bom', parameters['bom'], false),
    delimiter: csvDelimiters[readChoice('delimiter', parameters['delimiter'], delimiters)],
    localTimes: readBoolean('localTimes', parameters['localTimes'], false),
  };
}

/** The parameters without those of {@link parseExportOptions}. */
export function omitExportOptions(parameters: Parameters): Parameters {
  const own: ReadonlySet<string> = new Set(exportFileParameters);
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !own.has(name)));
}

/** One of some texts; the first one if the parameter is absent. */
function readChoice<C extends string>(name: string, input: unknown, choices: readonly C[]): C {
  if (input === undefined) return choices[0]!;
  const found = choices.find((each) => each === input);
  if (found !== undefined) return found;
  const quoted = choices.map((each) => `"${each}"`);
  throw new ApiError('PARAMETER_INVALID', `"${name}" must be ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}.`);
}
