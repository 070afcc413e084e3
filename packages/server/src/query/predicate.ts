import type { FullTextIndex } from '../database/full-text-index.ts';
import type { BindEnvironment } from '../database/sql.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { type Collection, type Field, getField, type Relation } from '../schema/registry.ts';

/** A filter whose names are resolved, whose operators fit their fields, and which includes the grants on its paths. */
export type Predicate =
  | { readonly kind: 'all' | 'any'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }
  | { readonly kind: 'test'; readonly field: Field; readonly operator: string; readonly operand: Operand }
  | {
      /** The row has a related record that the caller may see and that satisfies `of` (null: any). */
      readonly kind: 'related';
      readonly source: Collection;
      readonly relation: Relation;
      readonly target: Collection;
      readonly of: Predicate | null;
    }
  /** The relation of the environment's record `parent` names the row, and the caller may see that record. */
  | {
      readonly kind: 'within';
      readonly source: Collection;
      readonly relation: Relation;
      readonly parent: Predicate | null;
    }
  /** An e-mail matches a full-text search. Only the caller's accounts are searched. */
  | {
      readonly kind: 'matched';
      readonly index: FullTextIndex;
      readonly expression: Operand;
      readonly viewer: Operand;
      /** The search consists of single whole words, without phrases and prefixes. */
      readonly plain: boolean;
    }
  /** An e-mail is in a mailbox with this role, or with this path and no role, of one of the caller's accounts. */
  | {
      readonly kind: 'placed';
      readonly folder: Operand;
      readonly viewer: Operand;
      /** How it is found out: e-mail by e-mail, or by a list of all keys in the mailbox. */
      readonly by: 'probe' | 'list';
    }
  /** False as a whole if one of the variables has no value that its condition takes. */
  | { readonly kind: 'variables'; readonly variables: readonly Operand[]; readonly of: Predicate }
  | { readonly kind: 'never' };

export interface Operand {
  readonly form: 'null' | 'scalar' | 'list' | 'true' | 'false';
  /** The value, or list of values, in canonical form. */
  read(environment: BindEnvironment): unknown;
}

/** Both conditions; null holds for all rows. */
export function both(left: Predicate | null, right: Predicate | null): Predicate | null {
  if (left === null || right === null) return left ?? right;
  return { kind: 'all', of: [left, right] };
}

/** How many conditions are tested on a row at most. Conditions on related records are counted where those are visited. */
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

/** Whether a record is not being deleted in the background; null for collections without such records. */
export function notBeingDeleted(collection: Collection, view: TrashView): Predicate | null {
  const { hiddenWhile } = collection.traits;
  if (!hiddenWhile || view === 'with') return null;
  const operand: Operand = { form: 'scalar', read: () => hiddenWhile.value };
  const field = getField(collection, hiddenWhile.field);
  return { kind: 'not', of: { kind: 'test', field, operator: '$eq', operand } };
}

/** Whether a record exists for a reader: in the requested view of the trash, and not being deleted; null: all do. */
export function presentCondition(collection: Collection, view: TrashView): Predicate | null {
  return both(trashCondition(collection, view), notBeingDeleted(collection, view));
}

/** Which records of a collection with a trash are read. */
export type TrashView = RecordRequest['trash'];

/** Whether a record is in the requested view of the trash; null: all are. */
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
