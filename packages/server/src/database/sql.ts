import type { Storage } from '../schema/field-type.ts';

/** What a statement's parameters are read from when it is run: the values of one request and its caller. */
export interface BindEnvironment {
  /** Filter values by slot, as the request sent them. */
  readonly values: readonly unknown[];
  readonly valuesAreText: boolean;
  /** Key or keys of the wanted records, canonical. */
  readonly key: unknown;
  /** Key of the record whose relation is asked for. */
  readonly parent: unknown;
  /** Sort values of the row after which a page starts. */
  readonly cursor: readonly unknown[];
  readonly offset: number;
  /** Values of the variables in permission filters, by name; null where one is missing. */
  readonly variables: () => Readonly<Record<string, unknown>>;
  /** From when, and where, relative days count: milliseconds since the epoch, and a known zone. */
  readonly now: number;
  readonly zone: string;
  /** The snapshot that the statement was compiled for; null for statements that carry no version. */
  readonly version: number | null;
  /** Canonical values to write, by field name. */
  readonly record: Readonly<Record<string, unknown>>;
  /** The counters that If-Match names. */
  readonly counters: readonly number[];
  /** What the event row says of a write whose event stands in the same statement. */
  readonly event: Readonly<Record<'at' | 'actor' | 'requestId' | 'changed', unknown>>;
}

/** Some of an environment; what is absent or undefined is empty. */
export type BindParts = { readonly [Name in keyof BindEnvironment]?: BindEnvironment[Name] | undefined };

/** A value that reaches SQL only as a parameter. `storage` says how the engine takes it; `list` makes it a list. */
export interface Param {
  readonly storage: Storage;
  readonly list?: boolean;
  read(environment: BindEnvironment): unknown;
}

/** SQL in the making: text and parameters, not yet numbered. */
export class Sql {
  readonly parts: readonly (string | Param)[];

  constructor(parts: readonly (string | Param)[]) {
    this.parts = parts;
  }
}

/** Joins SQL text with fragments and parameters. Interpolated plain strings are SQL: never pass text from a request. */
export function sql(strings: TemplateStringsArray, ...inserts: readonly (Sql | Param | string | number)[]): Sql {
  const parts: (string | Param)[] = [];
  for (let index = 0; index < strings.length; index += 1) {
    if (strings[index] !== '') parts.push(strings[index]!);
    const insert = inserts[index];
    if (insert === undefined) continue;
    if (insert instanceof Sql) parts.push(...insert.parts);
    else parts.push(typeof insert === 'number' ? String(insert) : insert);
  }
  return new Sql(parts);
}

export function join(fragments: readonly Sql[], separator: string): Sql {
  const parts: (string | Param)[] = [];
  fragments.forEach((fragment, index) => {
    if (index > 0) parts.push(separator);
    parts.push(...fragment.parts);
  });
  return new Sql(parts);
}

/**
 * Joins conditions as a balanced tree: engines bound the depth of an expression (SQLite at 1,000).
 */
export function joinBalanced(fragments: readonly Sql[], operator: ' AND ' | ' OR '): Sql {
  if (fragments.length <= 8) return fragments.length === 1 ? fragments[0]! : sql`(${join(fragments, operator)})`;
  const middle = fragments.length >> 1;
  return sql`(${joinBalanced(fragments.slice(0, middle), operator)}${operator}${joinBalanced(fragments.slice(middle), operator)})`;
}

/** A quoted identifier. Only names found in the registry, or fixed ones, come here. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A quoted SQL text: for names of our own that stand inside expressions, such as JSON keys. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A parameter with a fixed value. */
export function value(storage: Storage, fixed: unknown): Param {
  return { storage, read: () => fixed };
}

export function listValue(storage: Storage, fixed: readonly unknown[]): Param {
  return { storage, list: true, read: () => fixed };
}
