/**
 * What a dry run remembers of the rows that it has rolled back: the values that must be unique, and the records that later rows of
 * the file may name. Values are stored as hashes of 52 bits, so that a file of a million rows needs about 16 MB for each unique
 * field. Two different values have the same hash once in 9,000 files of a million rows.
 */
import { hash } from 'node:crypto';
import type { Body } from '../../records/record-rules.ts';
import { type ColumnField, getColumnField } from '../../schema/registry.ts';
import { toSearchKey } from './found-records.ts';
import type { ImportPlan } from './import-plan.ts';
import type { AcceptedRow, FileMemory, RowRefusal } from './import-row.ts';

/** A set of hashes, in one array. Zero marks a free slot. */
class HashSet {
  #places = new Float64Array(1024);
  #size = 0;

  has(text: string): boolean {
    return this.#places[this.#find(toHash(text), this.#places)] !== 0;
  }

  add(text: string): void {
    if (this.#size * 2 > this.#places.length) this.#grow();
    const value = toHash(text);
    const place = this.#find(value, this.#places);
    if (this.#places[place] === 0) this.#size += 1;
    this.#places[place] = value;
  }

  #find(value: number, places: Float64Array): number {
    let place = value % places.length;
    while (places[place] !== 0 && places[place] !== value) place = (place + 1) % places.length;
    return place;
  }

  #grow(): void {
    const places = new Float64Array(this.#places.length * 2);
    for (const value of this.#places) if (value !== 0) places[this.#find(value, places)] = value;
    this.#places = places;
  }
}

function toHash(text: string): number {
  return Number.parseInt(hash('sha1', text, 'hex').slice(0, 13), 16) * 2 + 1;
}

/** Fields whose values are unique together. */
interface UniqueFields {
  readonly fields: readonly ColumnField[];
  readonly seen: HashSet;
}

/** The memory of one dry run. */
export class DryRunMemory implements FileMemory {
  readonly #unique: readonly UniqueFields[];
  readonly #written = new HashSet();
  readonly #ownReferences: readonly { readonly field: ColumnField; readonly key: ColumnField }[];

  constructor({ collection }: ImportPlan) {
    const { primaryKey, fields, options } = collection;
    const single = fields.filter((field) => field.primaryKey || field.definition.unique).map(({ name }) => [name]);
    const several = (options.indexes ?? []).filter(({ unique }) => unique).map((index) => index.fields);
    const lists = [...single, ...several].length > 0 ? [...single, ...several] : [[primaryKey.name]];
    this.#unique = lists.map((names) => ({
      fields: names.map((name) => getColumnField(collection, name)),
      seen: new HashSet(),
    }));
    this.#ownReferences = fields
      .filter(({ references }) => references?.collection === collection.name)
      .map((field) => ({
        field: getColumnField(collection, field.name),
        key: getColumnField(collection, field.references?.field ?? primaryKey.name),
      }));
  }

  findConflict(body: Body, matchKey: string | null): RowRefusal | null {
    if (matchKey !== null && this.#written.has(matchKey)) return null; // a later row changes the same record
    for (const { fields, seen } of this.#unique) {
      const key = readKey(fields, body);
      if (key === null || !seen.has(key)) continue;
      const names = fields.map(({ name }) => `"${name}"`).join(' and ');
      return {
        field: fields[0]?.name ?? null,
        reason:
          fields.length === 1
            ? 'An earlier row of the file has the same value.'
            : `An earlier row of the file has the same ${names}.`,
      };
    }
    return null;
  }

  hasWritten(matchKey: string): boolean {
    return this.#written.has(matchKey);
  }

  /** Without references to records that an earlier row has created. */
  toWritable(body: Body): Body {
    const own = this.#ownReferences.filter(({ field, key }) => {
      const value = body[field.name] ?? null;
      const seen = this.#unique.find(({ fields }) => fields.length === 1 && fields[0] === key)?.seen;
      return value !== null && seen?.has(toSearchKey([key], [value]));
    });
    if (own.length === 0) return body;
    return { ...body, ...Object.fromEntries(own.map(({ field }) => [field.name, null])) };
  }

  /** Notes a row of a transaction that was rolled back. */
  note({ body, matchKey }: AcceptedRow): void {
    for (const { fields, seen } of this.#unique) {
      const key = readKey(fields, body);
      if (key !== null) seen.add(key);
    }
    if (matchKey !== null) this.#written.add(matchKey);
  }
}

/** Null if a value is missing: nulls are not unique. */
function readKey(fields: readonly ColumnField[], body: Body): string | null {
  const values = fields.map(({ name }) => body[name]);
  return values.some((each) => each === null || each === undefined) ? null : toSearchKey(fields, values);
}
