import type { BindEnvironment } from '../database/sql.ts';
import type { Collection, Field, Relation } from '../schema/registry.ts';

/** A filter with its names resolved, its operators fitted to field types and the grants on its paths built in. */
export type Predicate =
  | { readonly kind: 'all' | 'any'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }
  | { readonly kind: 'test'; readonly field: Field; readonly operator: string; readonly operand: Operand }
  | {
      /** Some related record that may be seen satisfies `of` (or, without it, exists). */
      readonly kind: 'related';
      readonly source: Collection;
      readonly relation: Relation;
      readonly target: Collection;
      readonly of: Predicate | null;
    }
  /** Holds unless one of the variables has no value: then the whole permission filter is false. */
  | { readonly kind: 'variables'; readonly names: readonly string[]; readonly of: Predicate }
  | { readonly kind: 'never' };

export interface Operand {
  readonly form: 'null' | 'scalar' | 'list' | 'true' | 'false';
  /** The value, or list of values, in canonical form. */
  read(environment: BindEnvironment): unknown;
}

export function both(left: Predicate | null, right: Predicate | null): Predicate | null {
  if (left === null || right === null) return left ?? right;
  return { kind: 'all', of: [left, right] };
}
