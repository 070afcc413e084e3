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
      /** The row has a related record that the caller may see and that matches `of` (null: any). */
      readonly kind: 'related';
      readonly source: Collection;
      readonly relation: Relation;
      readonly target: Collection;
      readonly of: Predicate | null;
      /** The rows are read newest first until a page is full: if many new e-mails are in the folder, each row is looked up. */
      readonly isProbed?: true;
    }
  /** The relation of the environment's record `parent` refers to the row, and the caller may see that record. */
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
      /** How this is tested: for each e-mail, or with a list of all keys in the mailbox. */
      readonly by: 'probe' | 'list';
    }
  /** False as a whole if one of the variables has no value that its condition accepts. */
  | { readonly kind: 'variables'; readonly variables: readonly Operand[]; readonly of: Predicate }
  | { readonly kind: 'never' };

export interface Operand {
  readonly form: 'null' | 'scalar' | 'list' | 'true' | 'false';
  /** The value, or list of values, in canonical form. */
  read(environment: BindEnvironment): unknown;
}

/** The conditions that all must hold for a predicate to hold. */
export function conjuncts(predicate: Predicate): readonly Predicate[] {
  if (predicate.kind === 'all') return predicate.of.flatMap(conjuncts);
  // A filter with variables matches nothing if one of them is missing; the membership itself needs none of them.
  if (predicate.kind === 'variables' && predicate.of.kind === 'related')
    return [predicate.of, { kind: 'variables', variables: predicate.variables, of: { kind: 'all', of: [] } }];
  return [predicate];
}

/** Both conditions; null matches all rows. */
export function both(left: Predicate | null, right: Predicate | null): Predicate | null {
  if (left === null || right === null) return left ?? right;
  return { kind: 'all', of: [left, right] };
}

/**
 * The maximum number of conditions that are tested on a row. Conditions on related records are counted where those
 * records are read.
 */
export function countTests(predicate: Predicate | null): number {
  return sumLeaves(predicate, ({ kind }) => (kind === 'never' ? 0 : 1));
}

/** How many relations a predicate follows: each is a subquery of its statement. */
export function countRelations(predicate: Predicate | null): number {
  return sumLeaves(predicate, (leaf) => {
    if (leaf.kind === 'related') return 1 + countRelations(leaf.of);
    return leaf.kind === 'within' ? 1 + countRelations(leaf.parent) : 0;
  });
}

/** Sums a number over the conditions that are joined by logical operators. */
function sumLeaves(predicate: Predicate | null, count: (leaf: Predicate) => number): number {
  if (predicate === null) return 0;
  switch (predicate.kind) {
    case 'all':
    case 'any':
      return predicate.of.reduce((sum, each) => sum + sumLeaves(each, count), 0);
    case 'not':
    case 'variables':
      return sumLeaves(predicate.of, count);
    default:
      return count(predicate);
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

/**
 * Whether a record exists for a reader: it is in the requested view of the trash and is not being deleted; null: every
 * record does.
 */
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
