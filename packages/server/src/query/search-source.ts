/** Finds the part of a condition that search indexes can answer. */
import type { SearchOperator, SearchTest } from '../database/search-index.ts';
import type { Param } from '../database/sql.ts';
import { readsTrigrams } from '../database/trigrams.ts';
import { limits } from '../protocol/limits.ts';
import { requireStorage } from '../schema/field-parts.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { isSearchableField, listSearchFields } from '../schema/search-fields.ts';
import { conjuncts, type Predicate } from './predicate.ts';
import { compileColumn, compilePredicate } from './predicate-compiler.ts';
import { isIndexed } from './sort-plan.ts';
import type { StatementScope } from './statement-scope.ts';

type Test = Extract<Predicate, { kind: 'test' }>;

/** A part of a condition: tests of text fields that all have search indexes. A record matches if one of them holds. */
export interface SearchSource {
  readonly tests: readonly IndexedTest[];
  /** The part, and the rest of the condition. */
  readonly part: Predicate;
  readonly rest: Predicate | null;
  /** Whether another part of the condition may exclude most matches by an index of its own. */
  readonly isNarrow: boolean;
}

interface IndexedTest {
  readonly test: Test;
  readonly index: string;
  readonly operator: SearchOperator;
}

const searchOperators: Readonly<Record<string, SearchOperator>> = {
  $includes: 'contains',
  $startsWith: 'startsWith',
  $endsWith: 'endsWith',
  $like: 'like',
  $ilike: 'ilike',
};

/** The part of a condition that search indexes can answer; null: none. */
export function findSearchSource(condition: Predicate | null, collection: Collection): SearchSource | null {
  if (condition === null) return null;
  const parts = conjuncts(condition);
  for (const part of parts) {
    const tests = readTests(part, collection);
    if (tests === null) continue;
    const others = parts.filter((each) => each !== part);
    const rest: Predicate | null = others.length === 0 ? null : { kind: 'all', of: others };
    return { tests, part, rest, isNarrow: others.some((each) => isSeek(each, collection)) };
  }
  return null;
}

/**
 * The fields that lack the search index with which a list would find its records; none if the condition contains no search, if
 * other search indexes answer it, or if one of its fields cannot have one.
 */
export function findUnindexedSearch(condition: Predicate | null, collection: Collection): readonly Field[] {
  if (condition === null || findSearchSource(condition, collection) !== null) return [];
  const wanted: ReadonlySet<Field> = new Set(listSearchFields(collection));
  for (const part of conjuncts(condition)) {
    const missing = new Set(readSearchedFields(part, collection)?.filter((field) => !wanted.has(field)));
    if (missing.size > 0 && wanted.size + missing.size <= limits.searchIndexes) return [...missing];
  }
  return [];
}

/** The fields of a part that consists of searches; null if one of them can have no search index. */
function readSearchedFields(part: Predicate, collection: Collection): Field[] | null {
  if (part.kind === 'any') {
    const all = part.of.map((each) => readSearchedFields(each, collection));
    return all.every((each) => each !== null) ? all.flat() : null;
  }
  if (part.kind !== 'test' || !(part.operator in searchOperators) || part.operand.form !== 'scalar') return null;
  return collection.byName.get(part.field.name) === part.field && isSearchableField(part.field) ? [part.field] : null;
}

/** The tests of a part, any of which must hold; null if one of them has no search index. */
function readTests(part: Predicate, collection: Collection): IndexedTest[] | null {
  if (part.kind === 'any') {
    const all = part.of.map((each) => readTests(each, collection));
    return all.length > 0 && all.every((each) => each !== null) ? all.flat() : null;
  }
  if (part.kind !== 'test') return null;
  const { field, operator, operand } = part;
  const operatorName = searchOperators[operator];
  if (field.searchIndex === null || operatorName === undefined || operand.form !== 'scalar') return null;
  if (collection.byName.get(field.name) !== field) return null;
  return [{ test: part, index: field.searchIndex, operator: operatorName }];
}

/** Whether an index of the collection's table may find the few records that meet a condition. */
function isSeek(part: Predicate, collection: Collection): boolean {
  if (part.kind === 'within' || part.kind === 'related') return true;
  if (part.kind === 'variables') return isSeek(part.of, collection);
  if (part.kind === 'all') return part.of.some((each) => isSeek(each, collection));
  return part.kind === 'test' && ['$eq', '$in'].includes(part.operator) && isIndexed(part.field, collection);
}

/** The tests with their SQL, for the row `alias`. */
export function compileSearchTests(
  { tests }: SearchSource,
  alias: string,
  collection: Collection,
  scope: StatementScope,
): SearchTest[] {
  return tests.map(({ test, index, operator }) => ({
    index,
    operator,
    column: compileColumn(alias, collection, test.field.name),
    operand: { storage: requireStorage(test.field), read: test.operand.read },
    exact: compilePredicate(test, alias, collection, scope),
  }));
}

/** Whether the indexes can answer the search with the values of a run: its texts are not too short. */
export function canLookUp({ tests }: SearchSource): Param {
  return readsTrigrams(
    tests.map(({ test, operator }) => ({ operator, operand: { storage: 'text', read: test.operand.read } })),
  );
}
