import type { Dialect } from '../database/dialect.ts';
import type { FullTextLookup } from '../database/full-text-index.ts';
import { identifier, joinBalanced, type Param, type Sql, sql } from '../database/sql.ts';
import type { Storage } from '../schema/field-type.ts';
import { type Collection, getField, type Join, type Relation } from '../schema/registry.ts';
import { requireColumn, requireJoin, requireStorage } from './field-parts.ts';
import { countTests, type Operand, type Predicate } from './predicate.ts';
import type { StatementScope } from './statement-scope.ts';

export { StatementScope } from './statement-scope.ts';

type Kind<K extends Predicate['kind']> = Extract<Predicate, { kind: K }>;

/** `"alias"."column"` of a field. */
export function compileColumn(alias: string, collection: Collection, name: string): Sql {
  return sql`${identifier(alias)}.${identifier(requireColumn(getField(collection, name)))}`;
}

/**
 * Compiles a predicate about the row `alias` of a collection. Negated conditions are two-valued: `NOT` is compiled to
 * `IS NOT TRUE`, so a complement includes the rows in which the field is null.
 *
 * Example: `{ kind: 'not', of: { kind: 'test', field: title, operator: '$eq', … } }` becomes
 * `(("albums_1"."title_2"=?) IS NOT TRUE)`.
 */
export function compilePredicate(
  predicate: Predicate,
  alias: string,
  collection: Collection,
  scope: StatementScope,
): Sql {
  const compileInner = (each: Predicate): Sql => compilePredicate(each, alias, collection, scope);
  switch (predicate.kind) {
    case 'all':
      return predicate.of.length === 0 ? sql`(1=1)` : joinBalanced(predicate.of.map(compileInner), ' AND ');
    case 'any':
      return joinBalanced(predicate.of.map(compileInner), ' OR ');
    case 'not':
      return sql`((${compileInner(predicate.of)}) IS NOT TRUE)`;
    case 'never':
      return sql`(1=0)`;
    case 'variables':
      return sql`(${variablesPresent(predicate.variables)} AND ${compileInner(predicate.of)})`;
    case 'test': {
      const column = sql`${identifier(alias)}.${identifier(requireColumn(predicate.field))}`;
      return compileFieldTest(predicate, column, scope.dialect);
    }
    case 'related':
      return compileRelated(predicate, alias, scope);
    case 'within':
      return compileWithin(predicate, alias, collection, scope);
    case 'matched':
      return predicate.index.matchesEmail(sql`${identifier(alias)}`, compileFullText(predicate));
    case 'placed':
      return compileInFolder(predicate, alias, scope);
  }
}

/** A test of an expression that stands for the test's field. */
export function compileFieldTest(test: Kind<'test'>, column: Sql, dialect: Dialect): Sql {
  const { operator, operand } = test;
  if (operand.form === 'null') return sql`${column} IS NULL`;
  const storage = requireStorage(test.field);
  return (
    compileComparison(operator, column, { storage, read: operand.read }) ??
    compileDialectTest(test, storage, column, dialect)
  );
}

function compileInFolder(predicate: Kind<'placed'>, alias: string, scope: StatementScope): Sql {
  const inner = identifier(scope.nextAlias());
  const ownColumn = sql`${identifier(alias)}.id`;
  const isInMailbox = sql`${inner}."mailboxId" IN (${compileMailboxes(predicate)})`;
  if (predicate.by === 'list')
    return sql`${ownColumn} IN (SELECT ${inner}."emailId" FROM "mailPlacements" ${inner} WHERE ${isInMailbox})`;
  return sql`EXISTS (SELECT 1 FROM "mailPlacements" ${inner} WHERE ${inner}."emailId"=${ownColumn} AND ${isInMailbox})`;
}

/** A query for the ids of the mailboxes, with the column `group_key`. */
export function compileMailboxes({ folder, viewer }: Kind<'placed'>): Sql {
  const name: Param = { storage: 'text', read: folder.read };
  const user: Param = { storage: 'integer', read: viewer.read };
  return sql`SELECT id AS group_key FROM mailboxes WHERE coalesce(role,path)=${name}
AND "accountId" IN (SELECT "accountId" FROM "accountMembers" WHERE "userId"=${user})`;
}

/** What is looked up in the full-text index. */
export function compileFullText({ expression, viewer }: Kind<'matched'>): FullTextLookup {
  const user: Param = { storage: 'integer', read: viewer.read };
  return {
    expression: { storage: 'text', read: expression.read },
    accounts: sql`SELECT "accountId" AS a FROM "accountMembers" WHERE "userId"=${user}`,
  };
}

function variablesPresent(variables: readonly Operand[]): Param {
  return { storage: 'boolean', read: (environment) => variables.every(({ read }) => read(environment) !== null) };
}

/** A test that all engines write the same way; null for other operators. */
function compileComparison(operator: string, column: Sql, param: Param): Sql | null {
  switch (operator) {
    case '$eq':
      return sql`${column}=${param}`;
    case '$gt':
      return sql`${column}>${param}`;
    case '$gte':
      return sql`${column}>=${param}`;
    case '$lt':
      return sql`${column}<${param}`;
    case '$lte':
      return sql`${column}<=${param}`;
    case '$between':
      return sql`${column} BETWEEN ${memberParam(param, 0)} AND ${memberParam(param, 1)}`;
    case '$null':
      return sql`${column} IS NULL`;
    case '$dateOn':
    case '$dateBetween':
      return sql`(${column}>=${rangeEnd(param, 0)} AND ${column}<${rangeEnd(param, 1)})`;
    case '$dateBefore':
      return sql`${column}<${rangeEnd(param, 0)}`;
    case '$dateAfter':
      return sql`${column}>=${rangeEnd(param, 1)}`;
    default:
      return null;
  }
}

function compileDialectTest({ operator, operand }: Kind<'test'>, storage: Storage, column: Sql, dialect: Dialect): Sql {
  const param: Param = { storage, read: operand.read };
  switch (operator) {
    case '$in':
      return dialect.isIn(column, listParam(storage, operand));
    case '$like':
      return dialect.like(column, param, false);
    case '$ilike':
      return dialect.like(column, param, true);
    case '$includes':
      return dialect.contains(column, param);
    case '$startsWith':
      return dialect.startsWith(column, param);
    case '$endsWith':
      return dialect.endsWith(column, param);
    case '$isTruly':
      return dialect.isTrue(column);
    case '$isFalsy':
      return sql`((${dialect.isTrue(column)}) IS NOT TRUE)`;
    case '$match':
      return dialect.sameElements(column, elementsParam(operand));
    case '$anyOf':
      return dialect.anyElement(column, elementsParam(operand));
    case '$empty':
    case '$arrayEmpty':
      return dialect.isEmpty(storage, column);
    default:
      throw new Error(`There is no SQL for the operator ${operator}.`);
  }
}

/** An end of a range of time; null, which matches nothing, if a variable has no value. */
function rangeEnd(range: Param, index: number): Param {
  return {
    storage: range.storage,
    read: (environment) => (range.read(environment) as unknown[] | null)?.[index] ?? null,
  };
}

/** The elements of a list as JSON texts. */
function elementsParam(operand: Operand): Param {
  return listParam('text', operand);
}

/** A list; empty, which matches nothing, if a variable has no value. */
function listParam(storage: Storage, { read }: Operand): Param {
  return { storage, list: true, read: (environment) => read(environment) ?? [] };
}

function memberParam(list: Param, index: number): Param {
  return { storage: list.storage, read: (environment) => (list.read(environment) as unknown[])[index] };
}

/** IN with an uncorrelated list: an engine reads the list once and then seeks, whichever side is the smaller. */
function compileRelated({ source, relation, target, of }: Kind<'related'>, alias: string, scope: StatementScope): Sql {
  const inner = scope.nextAlias();
  const column = compileColumn(inner, target, relation.targetField);
  const tick = scope.dialect.deadlineCheck(inner, countTests(of));
  const conditions = [
    ...(tick ? [tick] : []),
    sql`${column} IS NOT NULL`,
    ...(of ? [compilePredicate(of, inner, target, scope)] : []),
  ];
  const from = sql`FROM ${identifier(target.table)} ${identifier(inner)}`;
  const keys = sql`SELECT ${column} ${from} WHERE ${joinBalanced(conditions, ' AND ')}`;
  const ownColumn = compileColumn(alias, source, relation.sourceField);
  return relation.through
    ? sql`${ownColumn} IN (${compileThroughKeys(relation, keys)})`
    : sql`${ownColumn} IN (${keys})`;
}

/** Rows that the relation of one record names: its value is read once, then the rows by that value. */
function compileWithin(
  { source, relation, parent }: Kind<'within'>,
  alias: string,
  target: Collection,
  scope: StatementScope,
): Sql {
  const outer = scope.nextAlias();
  const key: Param = { storage: requireStorage(source.primaryKey), read: (environment) => environment.parent };
  const conditions = [
    sql`${compileColumn(outer, source, source.primaryKey.name)}=${key}`,
    ...(parent ? [compilePredicate(parent, outer, source, scope)] : []),
  ];
  const column = compileColumn(outer, source, relation.sourceField);
  const from = sql`FROM ${identifier(source.table)} ${identifier(outer)}`;
  const value = sql`SELECT ${column} ${from} WHERE ${joinBalanced(conditions, ' AND ')}`;
  const ownColumn = compileColumn(alias, target, relation.targetField);
  if (!relation.through) return sql`${ownColumn}=(${value})`;
  return sql`${ownColumn} IN (${compileJoinedKeys(relation.through, sql`=(${value})`)})`;
}

/** A condition, with AND in front, that excludes links in the trash of a join; empty for joins without one. */
function excludeTrashedLinks({ trashColumn }: Join): Sql {
  return trashColumn === null ? sql`` : sql` AND ${identifier(trashColumn)} IS NULL`;
}

/** The targets that a join links to sources. @param comparison what follows the source column, such as `=?`. */
export function compileJoinedKeys(join: Join, comparison: Sql): Sql {
  const [source, target] = [identifier(join.sourceColumn), identifier(join.targetColumn)];
  return sql`SELECT ${target} FROM ${identifier(join.table)} WHERE ${source}${comparison}${excludeTrashedLinks(join)}`;
}

/** The sources that a relation's join links to the targets. */
function compileThroughKeys(relation: Relation, keys: Sql): Sql {
  const join = requireJoin(relation);
  const [source, target] = [identifier(join.sourceColumn), identifier(join.targetColumn)];
  return sql`SELECT ${source} FROM ${identifier(join.table)} WHERE ${target} IN (${keys})${excludeTrashedLinks(join)}`;
}
