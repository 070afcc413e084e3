import type { Dialect } from '../database/dialect.ts';
import type { FullTextLookup } from '../database/full-text-index.ts';
import { isInMailboxes, selectIndexedAccounts, selectMailboxes } from '../database/mail/mail-conditions.ts';
import { identifier, joinBalanced, type Param, type Sql, sql } from '../database/sql.ts';
import { requireColumn, requireJoin, requireStorage } from '../schema/field-parts.ts';
import { type Collection, getField, type Join, type Relation } from '../schema/registry.ts';
import { compileOperator } from './operator-sql.ts';
import { conjuncts, countTests, type Operand, type Predicate } from './predicate.ts';
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

/** A test, compiled for an expression instead of the test's field. */
export function compileFieldTest({ operator, operand, field }: Kind<'test'>, column: Sql, dialect: Dialect): Sql {
  return compileOperator({ operator, operand, storage: requireStorage(field) }, column, dialect);
}

function compileInFolder(predicate: Kind<'placed'>, alias: string, scope: StatementScope): Sql {
  const inner = identifier(scope.nextAlias());
  const email = sql`${identifier(alias)}.id`;
  return isInMailboxes({ email, alias: inner, mailboxes: compileMailboxes(predicate), by: predicate.by });
}

/** A query for the ids of the mailboxes, with the column `group_key`. */
export function compileMailboxes({ folder, viewer }: Kind<'placed'>): Sql {
  return selectMailboxes({ storage: 'text', read: folder.read }, { storage: 'integer', read: viewer.read });
}

/** The search terms for the full-text index. */
export function compileFullText({ expression, viewer }: Kind<'matched'>): FullTextLookup {
  return {
    expression: { storage: 'text', read: expression.read },
    accounts: selectIndexedAccounts({ storage: 'integer', read: viewer.read }),
  };
}

function variablesPresent(variables: readonly Operand[]): Param {
  return { storage: 'boolean', read: (environment) => variables.every(({ read }) => read(environment) !== null) };
}

/** The newest e-mails that decide how a folder is tested, and how many of them must be in it for a test row by row. */
const folderSample = { emails: 400, inFolder: 100 };

/**
 * The e-mails of a folder as a list of all of them, or looked up row by row if a quarter of the newest e-mails is in the folder: the
 * list of a large inbox takes longer than a page of it. The sample is counted once for each statement, and affects no result.
 */
function compileProbed(related: Kind<'related'>, alias: string, scope: StatementScope): Sql {
  const { source, relation, target, of } = related;
  const { isProbed: _isProbed, ...listed } = related;
  const placed = conjuncts(of ?? { kind: 'never' }).find((each) => each.kind === 'placed');
  if (!placed || relation.through) return compileRelated(listed, alias, scope);
  const [newest, inner] = [scope.nextAlias(), scope.nextAlias()];
  const table = identifier(target.table);
  const key = compileColumn(newest, target, target.primaryKey.name);
  const sample = sql`SELECT ${key} FROM ${table} ${identifier(newest)} ORDER BY ${key} DESC LIMIT ${folderSample.emails}`;
  const isInFolder = compileInFolder({ ...placed, by: 'probe' }, newest, scope);
  const inFolder = sql`SELECT count(*) FROM (${sample}) ${identifier(newest)} WHERE ${isInFolder}`;
  const probed: Predicate = {
    kind: 'all',
    of: conjuncts(of ?? placed).map((each) => (each === placed ? { ...placed, by: 'probe' } : each)),
  };
  const isRelated = sql`${compileColumn(inner, target, relation.targetField)}=${compileColumn(alias, source, relation.sourceField)}`;
  const tick = scope.dialect.deadlineCheck(inner, countTests(of));
  const conditions = [isRelated, ...(tick ? [tick] : []), compilePredicate(probed, inner, target, scope)];
  const row = sql`EXISTS (SELECT 1 FROM ${table} ${identifier(inner)} WHERE ${joinBalanced(conditions, ' AND ')})`;
  return sql`CASE WHEN (${inFolder})>=${folderSample.inFolder} THEN ${row} ELSE ${compileRelated(listed, alias, scope)} END`;
}

/** IN with an uncorrelated list: an engine reads the list once and then seeks, whichever side is the smaller. */
function compileRelated(related: Kind<'related'>, alias: string, scope: StatementScope): Sql {
  if (related.isProbed) return compileProbed(related, alias, scope);
  const { source, relation, target, of } = related;
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

/** Rows that the relation of one record refers to: its value is read once, then the rows with that value. */
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
