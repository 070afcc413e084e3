import type { FullTextIndex } from '../database/full-text-index.ts';
import type { BindEnvironment } from '../database/sql.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { deletingStatus } from '../schema/mail-collections.ts';
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
  /** The row is named by the relation of the record `parent` of the environment, if that record may be seen. */
  | {
      readonly kind: 'within';
      readonly source: Collection;
      readonly relation: Relation;
      readonly parent: Predicate | null;
    }
  /** An e-mail has the words that a search asks for; looked for in accounts that the caller sees alone. */
  | {
      readonly kind: 'matched';
      readonly index: FullTextIndex;
      readonly expression: Operand;
      readonly viewer: Operand;
      /** Single whole words alone are asked for, no phrases and no beginnings. */
      readonly plain: boolean;
    }
  /** An e-mail lies in a mailbox that has this role, or this path and no role; of accounts that the caller sees alone. */
  | {
      readonly kind: 'placed';
      readonly folder: Operand;
      readonly viewer: Operand;
      /** How rows are found: each is looked up, or the keys of all that lie there are listed. */
      readonly by: 'probe' | 'list';
    }
  /** False as a whole where one of the variables has no value that its condition takes. */
  | { readonly kind: 'variables'; readonly variables: readonly Operand[]; readonly of: Predicate }
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

/** How many conditions a row is held against at most; what relation paths lead to is counted where it is visited. */
export function countTests(predicate: Predicate | null): number {
  switch (predicate?.kind) {
    case 'all':
    case 'any':
      return predicate.of.reduce((sum, each) => sum + countTests(each), 0);
    case 'not':
    case 'variables':
      return countTests(predicate.of);
    case 'test':
    case 'related':
    case 'within':
    case 'matched':
    case 'placed':
      return 1;
    default:
      return 0;
  }
}

/** How many relations a predicate follows: each is a subquery of its statement. */
export function countRelations(predicate: Predicate | null): number {
  switch (predicate?.kind) {
    case 'all':
    case 'any':
      return predicate.of.reduce((sum, each) => sum + countRelations(each), 0);
    case 'not':
    case 'variables':
      return countRelations(predicate.of);
    case 'related':
      return 1 + countRelations(predicate.of);
    case 'within':
      return 1 + countRelations(predicate.parent);
    default:
      return 0;
  }
}

/** Whether a record is none of those that are only there until all that hangs on them is gone; null where there are none such. */
export function notBeingDeleted(collection: Collection, view: TrashView): Predicate | null {
  if (!collection.system || collection.name !== 'accounts' || view === 'with') return null;
  const operand: Operand = { form: 'scalar', read: () => deletingStatus };
  return {
    kind: 'not',
    of: { kind: 'test', field: collection.byName.get('status')!, operator: '$eq', operand },
  };
}

/** Whether a record is there: not in the trash, as far as that is asked for, and not on its way out; null where all are. */
export function presentCondition(collection: Collection, view: TrashView): Predicate | null {
  return both(trashCondition(collection, view), notBeingDeleted(collection, view));
}

/** Which records of a collection with a trash are meant. */
export type TrashView = RecordRequest['trash'];

/** Whether a record is in the trash, or is not; null where that does not matter. */
export function trashCondition({ trash }: Collection, view: TrashView): Predicate | null {
  if (trash === null || view === 'with') return null;
  const live: Predicate = {
    kind: 'test',
    field: trash.deletedAt,
    operator: '$null',
    operand: { form: 'null', read: () => null },
  };
  return view === 'without' ? live : { kind: 'not', of: live };
}
