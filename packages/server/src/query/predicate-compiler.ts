import type { Dialect } from '../database/dialect.ts';
import type { FullTextLookup } from '../database/full-text-index.ts';
import { identifier, joinBalanced, type Param, type Sql, sql } from '../database/sql.ts';
import type { Storage } from '../schema/field-type.ts';
import { type Collection, getField, type Join, type Relation } from '../schema/registry.ts';
import { countTests, type Operand, type Predicate } from './predicate.ts';

/** Makes aliases that differ within one statement. The root of a statement is known by its table's own name. */
export class Aliases {
  #count = 0;

  next(): string {
    this.#count += 1;
    return `t${this.#count}`;
  }
}

/** `"alias"."column"` of a field. */
export function compileColumn(alias: string, collection: Collection, name: string): Sql {
  return sql`${identifier(alias)}.${identifier(getField(collection, name).column!)}`;
}

/**
 * Compiles a predicate about the row `alias`. Every condition is two-valued where it is negated: `NOT` is spelled
 * `IS NOT TRUE`, so a complement keeps the rows where the field is null.
 */
export function compilePredicate(
  predicate: Predicate,
  alias: string,
  collection: Collection,
  dialect: Dialect,
  aliases: Aliases,
): Sql {
  const inner = (each: Predicate): Sql => compilePredicate(each, alias, collection, dialect, aliases);
  switch (predicate.kind) {
    case 'all':
      return predicate.of.length === 0 ? sql`(1=1)` : joinBalanced(predicate.of.map(inner), ' AND ');
    case 'any':
      return joinBalanced(predicate.of.map(inner), ' OR ');
    case 'not':
      return sql`((${inner(predicate.of)}) IS NOT TRUE)`;
    case 'never':
      return sql`(1=0)`;
    case 'variables':
      return sql`(${variablesPresent(predicate.variables)} AND ${inner(predicate.of)})`;
    case 'test':
      return compileFieldTest(predicate, sql`${identifier(alias)}.${identifier(predicate.field.column!)}`, dialect);
    case 'related':
      return compileRelated(predicate, alias, dialect, aliases);
    case 'within':
      return compileWithin(predicate, alias, collection, dialect, aliases);
    case 'matched':
      return predicate.index.matchesEmail(sql`${identifier(alias)}`, compileFullText(predicate));
    case 'placed':
      return compileInFolder(predicate, alias, aliases);
  }
}

/** A test, held against what stands for its field. */
export function compileFieldTest(
  { operator, operand, field }: Extract<Predicate, { kind: 'test' }>,
  column: Sql,
  dialect: Dialect,
): Sql {
  return compileTest(operator, operand, field.type.storage!, column, dialect);
}

type Matched = Extract<Predicate, { kind: 'matched' }>;

type Placed = Extract<Predicate, { kind: 'placed' }>;

function compileInFolder(predicate: Placed, alias: string, aliases: Aliases): Sql {
  const inner = identifier(aliases.next());
  const ownColumn = sql`${identifier(alias)}.id`;
  const isInMailbox = sql`${inner}."mailboxId" IN (${compileMailboxes(predicate)})`;
  if (predicate.by === 'list')
    return sql`${ownColumn} IN (SELECT ${inner}."emailId" FROM "mailPlacements" ${inner} WHERE ${isInMailbox})`;
  return sql`EXISTS (SELECT 1 FROM "mailPlacements" ${inner} WHERE ${inner}."emailId"=${ownColumn} AND ${isInMailbox})`;
}

/** A query for the ids of the mailboxes, with the column `group_key`. */
export function compileMailboxes({ folder, viewer }: Placed): Sql {
  const name: Param = { storage: 'text', read: folder.read };
  const user: Param = { storage: 'integer', read: viewer.read };
  return sql`SELECT id AS group_key FROM mailboxes WHERE coalesce(role,path)=${name} AND "accountId" IN (SELECT "accountId" FROM "accountMembers" WHERE "userId"=${user})`;
}

/** What is looked up in the full-text index. */
export function compileFullText({ expression, viewer }: Matched): FullTextLookup {
  const user: Param = { storage: 'integer', read: viewer.read };
  return {
    expression: { storage: 'text', read: expression.read },
    accounts: sql`SELECT "accountId" AS a FROM "accountMembers" WHERE "userId"=${user}`,
  };
}

function variablesPresent(variables: readonly Operand[]): Param {
  return { storage: 'boolean', read: (environment) => variables.every(({ read }) => read(environment) !== null) };
}

function compileTest(operator: string, operand: Operand, storage: Storage, column: Sql, dialect: Dialect): Sql {
  const param: Param = { storage, read: operand.read };
  if (operand.form === 'null') return sql`${column} IS NULL`;
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
    case '$null':
      return sql`${column} IS NULL`;
    case '$empty':
      return dialect.isEmpty(storage, column);
    case '$isTruly':
      return dialect.isTrue(column);
    case '$dateOn':
    case '$dateBetween':
      return sql`(${column}>=${rangeEnd(param, 0)} AND ${column}<${rangeEnd(param, 1)})`;
    case '$dateBefore':
      return sql`${column}<${rangeEnd(param, 0)}`;
    case '$dateAfter':
      return sql`${column}>=${rangeEnd(param, 1)}`;
    case '$match':
      return dialect.sameElements(column, elementsParam(operand));
    case '$anyOf':
      return dialect.anyElement(column, elementsParam(operand));
    case '$arrayEmpty':
      return dialect.isEmpty(storage, column);
    case '$isFalsy':
      return sql`((${dialect.isTrue(column)}) IS NOT TRUE)`;
    default:
      throw new Error(`no SQL for the operator ${operator}`);
  }
}

/** An end of a range of time; null, which holds for nothing, where a variable gives none. */
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

/** A list; empty, which holds for nothing, where a variable gives none. */
function listParam(storage: Storage, { read }: Operand): Param {
  return { storage, list: true, read: (environment) => read(environment) ?? [] };
}

function memberParam(list: Param, index: number): Param {
  return { storage: list.storage, read: (environment) => (list.read(environment) as unknown[])[index] };
}

/** IN with an uncorrelated list: an engine finds the list once and then seeks, whichever side is the smaller. */
function compileRelated(
  predicate: Extract<Predicate, { kind: 'related' }>,
  alias: string,
  dialect: Dialect,
  aliases: Aliases,
): Sql {
  const { source, relation, target } = predicate;
  const inner = aliases.next();
  const column = compileColumn(inner, target, relation.targetField);
  const tick = dialect.deadlineCheck(inner, countTests(predicate.of));
  const conditions = [
    ...(tick ? [tick] : []),
    sql`${column} IS NOT NULL`,
    ...(predicate.of ? [compilePredicate(predicate.of, inner, target, dialect, aliases)] : []),
  ];
  const keys = sql`SELECT ${column} FROM ${identifier(target.table)} ${identifier(inner)} WHERE ${joinBalanced(conditions, ' AND ')}`;
  const ownColumn = compileColumn(alias, source, relation.sourceField);
  return relation.through
    ? sql`${ownColumn} IN (${compileThroughKeys(relation, keys)})`
    : sql`${ownColumn} IN (${keys})`;
}

/** Rows that one record's relation names: its value is found once, then the rows by it. */
function compileWithin(
  { source, relation, parent }: Extract<Predicate, { kind: 'within' }>,
  alias: string,
  target: Collection,
  dialect: Dialect,
  aliases: Aliases,
): Sql {
  const outer = aliases.next();
  const key: Param = { storage: source.primaryKey.type.storage!, read: (environment) => environment.parent };
  const conditions = [
    sql`${compileColumn(outer, source, source.primaryKey.name)}=${key}`,
    ...(parent ? [compilePredicate(parent, outer, source, dialect, aliases)] : []),
  ];
  const value = sql`SELECT ${compileColumn(outer, source, relation.sourceField)} FROM ${identifier(source.table)} ${identifier(outer)} WHERE ${joinBalanced(conditions, ' AND ')}`;
  const ownColumn = compileColumn(alias, target, relation.targetField);
  if (!relation.through) return sql`${ownColumn}=(${value})`;
  const { table, sourceColumn, targetColumn } = relation.through;
  return sql`${ownColumn} IN (SELECT ${identifier(targetColumn)} FROM ${identifier(table)} WHERE ${identifier(sourceColumn)}=(${value})${excludeTrashedLinks(relation.through)})`;
}

/** Links in the trash of a join are none. */
export function excludeTrashedLinks({ trashColumn }: Join): Sql {
  return trashColumn === null ? sql`` : sql` AND ${identifier(trashColumn)} IS NULL`;
}

function compileThroughKeys({ through }: Relation, keys: Sql): Sql {
  const { table, sourceColumn, targetColumn } = through!;
  return sql`SELECT ${identifier(sourceColumn)} FROM ${identifier(table)} WHERE ${identifier(targetColumn)} IN (${keys})${excludeTrashedLinks(through!)}`;
}
