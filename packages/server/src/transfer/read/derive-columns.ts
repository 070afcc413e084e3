/** Derives the definition of a collection from the values of a file. */
import { TimeSlices } from '../../base/time-slices.ts';
import { storableText } from '../../base/well-formed.ts';
import type { FieldDefinition } from '../../protocol/definition.ts';
import { limits } from '../../protocol/limits.ts';
import type { CellFormat } from './cell-format.ts';
import { ColumnProfile, type NumberShape } from './column-profile.ts';
import { proposeName, splitWords } from './field-names.ts';
import type { SourceRow, TableSource } from './table-source.ts';

const defaultMaxRows = 1_000_000;
const sampleCount = 20;
/** Texts become a select field if few of them are distinct and each occurs often. */
const choices = { rows: 30, repeats: 5, length: 60, max: 20 } as const;
const maxStringLength = 255;
const maxDecimalDigits = 18;
/** Numbers with more digits after the point are measurements or quotients. */
const maxScale = 9;
const maxInteger = 2 ** 31 - 1;
const maxBigIntDigits = 18;
/** Names that the server gives to fields of its own. */
const managedNames = 'id createdAt updatedAt createdBy createdById updatedBy updatedById deletedAt deletedWith'.split(
  ' ',
);
/** Headers by which 1 and 0 mean true and false. */
const truthHeader =
  /^(?:is|has|can|active|aktiv|actif|enabled|done|erledigt|paid|bezahlt|flag|ja|yes|visible|deleted|verified)$/;

export interface DerivedColumn {
  readonly index: number;
  readonly header: string;
  /** A complete definition: `{"name": "unitPrice", "title": "Unit price", "type": "decimal", "precision": 10, "scale": 2}`. */
  readonly definition: FieldDefinition;
  /** How the texts of the column are to be read, for {@link parseCell}. */
  readonly format: CellFormat;
  /** The first texts, cut off after 200 characters. */
  readonly samples: readonly string[];
}

export interface DerivedTable {
  readonly columns: readonly DerivedColumn[];
  /** The first 20 rows. */
  readonly sampleRows: readonly SourceRow[];
  /** The number of rows that were read. */
  readonly rows: number;
  /** There are more rows, so a later value may not fit the derived type. */
  readonly truncated: boolean;
}

/**
 * Reads the rows and derives a field for each column.
 *
 * @param options.maxRows default: a million.
 * @throws ApiError where the file cannot be read.
 */
export async function deriveColumns(
  source: TableSource,
  { maxRows = defaultMaxRows }: { readonly maxRows?: number } = {},
): Promise<DerivedTable> {
  const hasTypes = source.format === 'json' || source.format === 'ndjson';
  const profiles = source.columns.map(() => new ColumnProfile(hasTypes));
  const sampleRows: SourceRow[] = [];
  let rows = 0;
  let truncated = false;
  const slices = new TimeSlices();
  for await (const batch of source.rows()) {
    const used = batch.slice(0, maxRows - rows);
    rows += used.length;
    sampleRows.push(...used.slice(0, sampleCount - sampleRows.length));
    for (const { cells } of used) {
      if (slices.isOver) await slices.next();
      for (const [index, profile] of profiles.entries()) profile.add(cells[index] ?? null);
    }
    truncated = used.length < batch.length;
    if (truncated) break;
  }
  const signs = new Set(profiles.map(({ decimalSign }) => decimalSign).filter((sign) => sign !== null));
  const [sign] = signs;
  // A file has one language. If its columns show both signs, each of them is read by itself.
  if (sign !== undefined && signs.size === 1) for (const profile of profiles) profile.useDecimalSign(sign);
  const taken = new Set(managedNames);
  const columns = source.columns.map((header, index) => {
    const profile = profiles[index] ?? new ColumnProfile(hasTypes);
    return { index, header, samples: profile.samples, ...deriveField(header, index, { profile, taken }) };
  });
  return { columns, sampleRows, rows, truncated };
}

interface DerivedField {
  readonly definition: FieldDefinition;
  readonly format: CellFormat;
}

function deriveField(
  header: string,
  index: number,
  { profile, taken }: { readonly profile: ColumnProfile; readonly taken: Set<string> },
): DerivedField {
  const { type, format } = deriveType(header, profile);
  const isKey = header.trim().toLowerCase() === 'id' && isGeneratedKey(type.type, profile);
  if (isKey) return { definition: { name: 'id', ...type, primaryKey: true, autoIncrement: true }, format };
  const fallback = `column${index + 1}`;
  const name = proposeName(header, fallback, taken);
  const title = [...storableText(header.trim() || `Column ${index + 1}`)].slice(0, limits.titleLength).join('');
  const required = profile.count > 0 && profile.empty === 0;
  return { definition: { name, ...(title !== name && { title }), ...type, ...(required && { required }) }, format };
}

/** Whether the values can be the primary key. */
function isGeneratedKey(type: string, { isAscending, empty, samples }: ColumnProfile): boolean {
  return (type === 'integer' || type === 'bigInt') && isAscending && empty === 0 && Number(samples[0]) > 0;
}

type TypeOptions = Omit<FieldDefinition, 'name'>;

function deriveType(
  header: string,
  profile: ColumnProfile,
): { readonly type: TypeOptions; readonly format: CellFormat } {
  const { simpleTypes, numbers, dateType, format } = profile;
  const isNumber = numbers !== null;
  if (simpleTypes.includes('boolean') && (!isNumber || splitWords(header).some((word) => truthHeader.test(word))))
    return { type: { type: 'boolean' }, format };
  const number = numbers === null ? null : deriveNumber(numbers);
  if (number !== null) return { type: number, format };
  if (dateType !== null) return { type: { type: dateType }, format };
  const simple = simpleTypes.find((type) => type !== 'boolean');
  return { type: simple === undefined ? deriveText(profile) : { type: simple }, format };
}

/** Null for integers that no type can hold. */
function deriveNumber({ whole, fraction, hasExponent, size }: NumberShape): TypeOptions | null {
  if (hasExponent || fraction > maxScale) return { type: 'double' };
  if (fraction > 0)
    return whole + fraction > maxDecimalDigits
      ? { type: 'double' }
      : { type: 'decimal', precision: Math.min(maxDecimalDigits, Math.max(10, whole + fraction + 2)), scale: fraction };
  if (whole > maxBigIntDigits) return null;
  return { type: size <= maxInteger ? 'integer' : 'bigInt' };
}

function deriveText({ distinct, count, maxLength, hasLineBreak }: ColumnProfile): TypeOptions {
  if (hasLineBreak || maxLength > maxStringLength) return { type: 'text' };
  const isChoice =
    distinct !== null &&
    distinct.size >= 2 &&
    distinct.size <= choices.max &&
    count >= choices.rows &&
    count >= distinct.size * choices.repeats &&
    maxLength <= choices.length;
  return isChoice ? { type: 'select', enum: [...distinct].sort() } : { type: 'string' };
}
