import type { Storage } from '../schema/field-type.ts';

/** The values that a statement's parameters read when it runs: those of one request and its caller. */
export interface BindEnvironment {
  /** Filter values by slot, as the request sent them. */
  readonly values: readonly unknown[];
  readonly valuesAreText: boolean;
  /** Key or keys of the wanted records, canonical. */
  readonly key: unknown;
  /** Key of the record whose relation is read. */
  readonly parent: unknown;
  /** Sort values of the row after which a page starts. */
  readonly cursor: readonly unknown[];
  readonly offset: number;
  /** Values of the variables in permission filters, by name; null if one is missing. */
  readonly variables: () => Readonly<Record<string, unknown>>;
  /** The present for relative days, in milliseconds since the Unix epoch; and a known time zone. */
  readonly now: number;
  readonly zone: string;
  /** The snapshot that the statement was compiled for; null for statements that carry no version. */
  readonly version: number | null;
  /** Canonical values to write, by field name. */
  readonly record: Readonly<Record<string, unknown>>;
  /** The write counters that If-Match names. */
  readonly counters: readonly number[];
  /** Values of the event row, for a write whose event is logged by the same statement. */
  readonly event: Readonly<Record<'at' | 'actor' | 'requestId' | 'changed', unknown>>;
}

/** Parts of an environment; absent or undefined ones are empty. */
export type BindParts = { readonly [Name in keyof BindEnvironment]?: BindEnvironment[Name] | undefined };

/** A value that enters SQL as a parameter only. `storage` determines how the engine takes it; `list` makes it a list. */
export interface Param {
  readonly storage: Storage;
  readonly list?: boolean;
  /** The time of a write, which the thread that executes the write determines. */
  readonly isStamp?: boolean;
  read(environment: BindEnvironment): unknown;
}

/** An SQL fragment: text and parameters that are not numbered yet. */
export class Sql {
  readonly parts: readonly (string | Param)[];

  constructor(parts: readonly (string | Param)[]) {
    this.parts = parts;
  }
}

/**
 * A fragment of SQL text, other fragments and parameters. Interpolated plain strings are SQL: never pass text from a request.
 *
 * Example: ``sql`SELECT * FROM ${identifier(table)} WHERE id=${value('integer', 7)}` ``
 */
export function sql(strings: TemplateStringsArray, ...inserts: readonly (Sql | Param | string | number)[]): Sql {
  const parts: (string | Param)[] = [];
  strings.forEach((text, index) => {
    if (text !== '') parts.push(text);
    const insert = inserts[index];
    if (insert === undefined) return;
    if (insert instanceof Sql) parts.push(...insert.parts);
    else parts.push(typeof insert === 'number' ? String(insert) : insert);
  });
  return new Sql(parts);
}

/** Joins fragments with a separator, such as `,`. */
export function join(fragments: readonly Sql[], separator: string): Sql {
  const parts: (string | Param)[] = [];
  fragments.forEach((fragment, index) => {
    if (index > 0) parts.push(separator);
    parts.push(...fragment.parts);
  });
  return new Sql(parts);
}

/** Joins conditions as a balanced tree, since engines limit the depth of an expression (SQLite to 1,000). */
export function joinBalanced(fragments: readonly Sql[], operator: ' AND ' | ' OR '): Sql {
  const [only] = fragments;
  if (only && fragments.length === 1) return only;
  if (fragments.length <= 8) return sql`(${join(fragments, operator)})`;
  const middle = fragments.length >> 1;
  const [left, right] = [fragments.slice(0, middle), fragments.slice(middle)];
  return sql`(${joinBalanced(left, operator)}${operator}${joinBalanced(right, operator)})`;
}

/** A quoted identifier. Pass only names from the registry, or fixed ones. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A quoted SQL string: for names from the registry or fixed ones in expressions, such as JSON keys. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A parameter with a fixed value. */
export function value(storage: Storage, fixed: unknown): Param {
  return { storage, read: () => fixed };
}

/** A list parameter with fixed values. */
export function listValue(storage: Storage, fixed: readonly unknown[]): Param {
  return { storage, list: true, read: () => fixed };
}
