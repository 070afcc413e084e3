import type { JsonMember } from '../database/dialect.ts';
import { identifier, joinBalanced, type Sql, sql } from '../database/sql.ts';
import { limits } from '../protocol/limits.ts';
import { requireColumn, requireRelation, requireStorage } from '../schema/field-parts.ts';
import { countTests } from './predicate.ts';
import { compileColumn, compileJoinedKeys, compilePredicate } from './predicate-compiler.ts';
import type { Append, Selection } from './selection.ts';
import type { StatementScope } from './statement-scope.ts';

/** Compiles a selection to an expression: one JSON object for the row `alias`, with its appended records. */
export function compileObject(selection: Selection, alias: string, scope: StatementScope): Sql {
  return scope.dialect.object(compileMembers(selection, alias, scope));
}

function compileMembers(selection: Selection, alias: string, scope: StatementScope): JsonMember[] {
  const ownMembers = selection.fields.map((field) => {
    const column = sql`${identifier(alias)}.${identifier(requireColumn(field))}`;
    return scope.dialect.member(field.name, requireStorage(field), column);
  });
  const appended = selection.appends.map((append) => ({
    name: append.field.name,
    value: compileAppend(append, alias, selection, scope),
  }));
  return [...ownMembers, ...appended];
}

/** To-one: the object or null. To-many: the list, sorted by primary key. */
function compileAppend(append: Append, alias: string, parent: Selection, scope: StatementScope): Sql {
  const { dialect } = scope;
  const relation = requireRelation(append.field);
  const target = append.selection.collection;
  const inner = scope.nextAlias();
  const ownColumn = compileColumn(alias, parent.collection, relation.sourceField);
  const joined = compileColumn(inner, target, relation.targetField);
  const conditions = [
    relation.through
      ? sql`${joined} IN (${compileJoinedKeys(relation.through, sql`=${ownColumn}`)})`
      : sql`${joined}=${ownColumn}`,
  ];
  if (append.rows) conditions.push(compilePredicate(append.rows, inner, target, scope));
  if (append.parent) conditions.push(compilePredicate(append.parent, alias, parent.collection, scope));
  const members = compileMembers(append.selection, inner, scope);
  const from = sql`FROM ${identifier(target.table)} ${identifier(inner)} WHERE ${joinBalanced(conditions, ' AND ')}`;
  if (!relation.many) return dialect.objectFrom(members, from);
  const tick = dialect.deadlineCheck(inner, countTests(append.rows) + 1);
  const checked = tick ? sql`${from} AND ${tick}` : from;
  const ordered = sql`${checked} ORDER BY ${compileColumn(inner, target, target.primaryKey.name)}`;
  return dialect.listFrom(members, ordered, limits.appendedRecords, append.path);
}
