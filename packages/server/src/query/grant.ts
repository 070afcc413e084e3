import type { ParsedFilter } from '../protocol/record-request.ts';
import type { Field } from '../schema/registry.ts';

/**
 * The rows and fields that a caller may use with one action on one resource. Only access/ makes grants; every record
 * statement is compiled with one.
 */
export interface Grant {
  /** Grants with the same identity allow the same rows and fields. */
  readonly identity: string;
  readonly rows: RowFilter | null;
  /** Whether the field may be read (or written, for a write action). */
  may(field: Field): boolean;
}

/** A permission's row filter: normalised, with fixed values, and variables by slot. */
export interface RowFilter {
  readonly filter: ParsedFilter;
  readonly values: readonly unknown[];
  /** Variable names by the slot that holds them. */
  readonly variables: ReadonlyMap<number, string>;
}

/** The caller's grants by resource and action; null if there is none. */
export type GrantLookup = (resource: string, action: string) => Grant | null;
