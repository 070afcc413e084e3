import type { Dialect, JsonMember } from '../database/dialect.ts';
import { identifier, joinBalanced, type Sql, sql } from '../database/sql.ts';
import { limits } from '../protocol/limits.ts';
import type { Join } from '../schema/registry.ts';
import { countTests } from './predicate.ts';
import { type Aliases, compileColumn, compilePredicate, excludeTrashedLinks } from './predicate-compiler.ts';
import type { Append, Selection } from './selection.ts';

/** Compiles a selection to the expression of one finished JSON object for the row `alias`. */
export function compileObject(selection: Selection, alias: string, dialect: Dialect, aliases: Aliases): Sql {
  return dialect.object(compileMembers(selection, alias, dialect, aliases));
}

function compileMembers(selection: Selection, alias: string, dialect: Dialect, aliases: Aliases): JsonMember[] {
  const ownMembers = selection.fields.map((field) =>
    dialect.member(field.name, field.type.storage!, sql`${identifier(alias)}.${identifier(field.column!)}`),
  );
  const appended = selection.appends.map((append) => ({
    name: append.field.name,
    value: compileAppend(append, alias, selection, dialect, aliases),
  }));
  return [...ownMembers, ...appended];
}

/** To-one: the object or null. To-many: the list by primary key. */
function compileAppend(append: Append, alias: string, parent: Selection, dialect: Dialect, aliases: Aliases): Sql {
  const relation = append.field.relation!;
  const target = append.selection.collection;
  const inner = aliases.next();
  const ownColumn = compileColumn(alias, parent.collection, relation.sourceField);
  const joined = compileColumn(inner, target, relation.targetField);
  const conditions = [
    relation.through
      ? sql`${joined} IN (${compileThroughKeys(relation.through, ownColumn)})`
      : sql`${joined}=${ownColumn}`,
  ];
  if (append.rows) conditions.push(compilePredicate(append.rows, inner, target, dialect, aliases));
  if (append.parent) conditions.push(compilePredicate(append.parent, alias, parent.collection, dialect, aliases));
  const members = compileMembers(append.selection, inner, dialect, aliases);
  const from = sql`FROM ${identifier(target.table)} ${identifier(inner)} WHERE ${joinBalanced(conditions, ' AND ')}`;
  if (!relation.many) return dialect.objectFrom(members, from);
  const tick = dialect.deadlineCheck(inner, countTests(append.rows) + 1);
  const ticking = tick ? sql`${from} AND ${tick}` : from;
  const ordered = sql`${ticking} ORDER BY ${compileColumn(inner, target, target.primaryKey.name)}`;
  return dialect.listFrom(members, ordered, limits.appendedRecords, append.path);
}

function compileThroughKeys(through: Join, ownColumn: Sql): Sql {
  return sql`SELECT ${identifier(through.targetColumn)} FROM ${identifier(through.table)} WHERE ${identifier(through.sourceColumn)}=${ownColumn}${excludeTrashedLinks(through)}`;
}
