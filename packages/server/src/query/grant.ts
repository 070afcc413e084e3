import type { ParsedFilter } from '../protocol/record-request.ts';
import type { Field } from '../schema/registry.ts';

/**
 * What a caller may do on one resource with one action: the rows and the fields. Made by access/ alone; every record
 * statement is compiled with one.
 */
export interface Grant {
  /** Tells apart what this grant allows from what another allows: same identity, same rows and fields. */
  readonly identity: string;
  readonly rows: RowFilter | null;
  /** Whether the field may be read (or written, for a write action). */
  may(field: Field): boolean;
}

/** A permission's row filter: normalised, its values fixed, its variables by slot. */
export interface RowFilter {
  readonly filter: ParsedFilter;
  readonly values: readonly unknown[];
  /** Variable names by the slot that holds them. */
  readonly variables: ReadonlyMap<number, string>;
}

/** The caller's grants by resource and action; null where there is none. */
export type GrantLookup = (resource: string, action: string) => Grant | null;
