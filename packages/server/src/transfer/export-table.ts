/** The rows of an exported table, read from the JSON texts of a list without pages. */
import { pageSeparator } from '../database/dialect.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import type { JsonChunks } from '../records/read/stream-records.ts';
import type { ExportColumn, ExportedRecord } from './export-columns.ts';

/** What the writers of tables need. */
export interface ExportTable {
  readonly columns: readonly ExportColumn[];
  readonly header: 'names' | 'titles';
  /** The time zone of date-times; null for UTC. */
  readonly zone: string | null;
  /** The title of the collection. */
  readonly title: string;
  /** The records in pieces. The numbers in them have all of their digits. */
  readonly batches: AsyncGenerator<readonly ExportedRecord[]>;
}

/** @param first the first piece, which was read before the reply began. */
export async function* parseBatches(
  first: IteratorResult<string>,
  chunks: JsonChunks,
): AsyncGenerator<readonly ExportedRecord[]> {
  if (first.done) return;
  yield parseBatch(first.value);
  for await (const chunk of chunks) yield parseBatch(chunk);
}

function parseBatch(chunk: string): readonly ExportedRecord[] {
  return parseExactJson(`[${chunk.replaceAll(pageSeparator, ',')}]`) as ExportedRecord[];
}

/** The text of the header. */
export function readHeader({ columns, header }: ExportTable): string[] {
  return columns.map(({ name, title }) => (header === 'titles' ? title : name));
}

/** The time on the clocks of a zone, with the offset of that time from UTC. */
export interface ZonedTime {
  readonly time: Temporal.ZonedDateTime;
  readonly offsetMilliseconds: number;
}

/** @param instant a canonical date-time. */
export function toZonedTime(instant: string, zone: string): ZonedTime {
  const time = Temporal.Instant.from(instant).toZonedDateTimeISO(zone);
  return { time, offsetMilliseconds: time.offsetNanoseconds / 1e6 };
}

/**
 * `2026-11-23T16:10:00.000+01:00`. Offsets that are not whole minutes (before about 1900), and years outside of 1 to 9999,
 * cannot be written in this form; such a time stays in UTC.
 */
export function formatZonedTime(instant: string, zone: string): string {
  const { time, offsetMilliseconds } = toZonedTime(instant, zone);
  if (offsetMilliseconds % 60_000 !== 0 || time.year < 1 || time.year > 9999) return instant;
  return time.toString({ timeZoneName: 'never', fractionalSecondDigits: 3 });
}
