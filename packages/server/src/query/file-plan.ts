/** Plans which files a caller may read because of the records that refer to them. */
import { compile } from '../database/database.ts';
import { identifier, joinBalanced, type Param, type Sql, sql, value } from '../database/sql.ts';
import { requireColumn, requireStorage } from '../schema/field-parts.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { compileConditions, compileKey } from './conditions.ts';
import { planRows } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import type { PlanContext } from './plan-context.ts';
import type { GetPlan } from './read-plan.ts';
import { StatementScope } from './statement-scope.ts';

/** A field of type `file` that a get shows, with the grant of the caller to get its records. */
export interface ShownFileField {
  readonly collection: Collection;
  readonly field: Field;
  readonly grant: Grant;
}

/** A plan for the files that are shown. */
export type ShownFilesPlan = Omit<GetPlan, 'need'>;

const wantedFiles: Param = { storage: 'integer', list: true, read: ({ key }) => key };

/**
 * Plans the read of the files that one of the fields shows in a record that the caller may get. The candidates are the
 * files whose ids are the keys of the environment. Each row has the id of a file. It is one statement for any number of
 * references, and it looks for only one record of each file.
 *
 * Example, shortened:
 *
 *     SELECT f.id FROM (<ids>) f WHERE EXISTS (SELECT 1 FROM "fileReferences" r CROSS JOIN "posts_5" WHERE r."fileId"=f.id AND r."collectionId"=5 AND r."fieldId"=9
 *     AND "posts_5"."id_8"=CAST(r.key AS INTEGER) AND "posts_5"."photo_9"->>'id'=f.id AND <row filter>)
 */
export function planShownFiles(fields: readonly ShownFileField[], context: PlanContext): ShownFilesPlan {
  const { dialect } = context;
  const scope = new StatementScope(dialect);
  const files = sql`(SELECT v AS id FROM ${dialect.listAsRows(wantedFiles)}) f`;
  const isShown = fields.map((each) => compileShown(each, context, scope));
  const rows = sql`SELECT f.id FROM ${files} WHERE ${joinBalanced(isShown, ' OR ')}`;
  const { page, read } = dialect.pageQuery({ rows, columns: 1, count: null, cap: 0 });
  return { statement: compile(dialect, page), read };
}

/** Whether a record shows the file `f.id`. The references are read first. */
function compileShown(
  { collection, field, grant }: ShownFileField,
  { registry, dialect }: PlanContext,
  scope: StatementScope,
): Sql {
  const { id: collectionId, table } = collection;
  const reference = identifier(scope.nextAlias());
  const stored = sql`${identifier(table)}.${identifier(requireColumn(field))}`;
  const isReferring = joinBalanced(
    [
      sql`${reference}."fileId"=f.id`,
      sql`${reference}."collectionId"=${value('integer', collectionId)}`,
      sql`${reference}."fieldId"=${value('integer', field.id)}`,
      sql`${compileKey(collection)}=${dialect.keyFromText(requireStorage(collection.primaryKey), sql`${reference}.key`)}`,
    ],
    ' AND ',
  );
  const conditions = [
    () => isReferring,
    () => dialect.hasObjectWithId(stored, field.definition.multiple === true, sql`f.id`),
    planRows(grant.rows, collection, registry),
  ];
  const where = compileConditions({ alias: table, collection, conditions, scans: true }, scope);
  return sql`EXISTS (SELECT 1 FROM "fileReferences" ${reference} CROSS JOIN ${identifier(table)} WHERE ${where ?? '1=1'})`;
}
