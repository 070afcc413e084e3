import {
  type BoundStatement,
  bind,
  compile,
  createBindEnvironment,
  type DatabaseFault,
  type Row,
} from '../database/database.ts';
import { identifier, type Param, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { planRows } from '../query/filter-plan.ts';
import type { Grant } from '../query/grant.ts';
import type { Predicate } from '../query/predicate.ts';
import { StatementScope } from '../query/predicate-compiler.ts';
import { permissionDenied } from '../query/read-access.ts';
import { compileWhere } from '../query/read-plan.ts';
import { type Collection, type Field, getField, listColumnFields } from '../schema/registry.ts';
import type { RecordContext } from './record-context.ts';
import type { CheckedRecord } from './record-input.ts';
import { findReferencesTo, mayReadReference, type Reference } from './references.ts';

type RunStatement = (statement: BoundStatement) => Promise<Row[]>;

/**
 * Checks that foreign keys name records that exist and that the caller may get; the two failures answer alike.
 *
 * @param always also where the caller sees every record, so that only the constraint could fail.
 * @throws ApiError `REFERENCE_MISSING` naming the field, or 403 without any get grant on the target.
 */
export async function checkReferences(
  context: RecordContext,
  collection: Collection,
  records: readonly CheckedRecord[],
  run: RunStatement,
  always = false,
): Promise<void> {
  for (const field of listColumnFields(collection)) {
    if (!field.references) continue;
    const named = records.filter((record) => record.named.includes(field.name) && record.values[field.name] !== null);
    const writtenKeys = collectWrittenKeys(collection, field, records);
    const wanted = [...new Set(named.map((record) => record.values[field.name]))].filter(
      (key) => !writtenKeys.has(key),
    );
    if (wanted.length === 0) continue;
    const grant = requireTargetGrant(context, field);
    const rows = planRows(grant.rows, context.registry.get(field.references.collection), context.registry);
    if (always || rows !== null) await checkForeignKey(context, field, wanted, rows, run);
  }
}

/**
 * Tells what a foreign-key constraint has refused: which key names no record, or which value others still name. SQLite does
 * not say which one it was, so both engines are asked. In a shared transaction of PostgreSQL nothing can be asked any more,
 * and another connection would not see what it wrote: there the refusal itself names the column.
 *
 * @throws ApiError `REFERENCE_MISSING` or `DEPENDANTS_EXIST` naming the field.
 */
export async function explainReferenceFault(
  context: RecordContext,
  collection: Collection,
  records: readonly CheckedRecord[],
  { columns }: DatabaseFault,
): Promise<void> {
  const { database, tx, registry } = context;
  const written = new Set(records.flatMap(({ named }) => named));
  if (tx && database.dialect.faultEndsTransaction) {
    const field = listColumnFields(collection).find(({ column }) => columns.includes(column!));
    if (field?.references && written.has(field.name)) throw referenceMissing(field);
  } else {
    const runStatement: RunStatement = async (statement) =>
      tx ? tx.run(statement) : (await database.read([statement]))[0]!;
    await checkReferences(context, collection, records, runStatement, true);
  }
  const referencing = findReferencesTo(collection, registry).filter(({ field }) =>
    written.has(field.references!.field),
  );
  if (referencing[0]) throw stillReferenced(context, collection, referencing[0].field.references!.field, referencing);
}

/** Keys that records of the same write bring with them: they may name each other. */
function collectWrittenKeys(
  collection: Collection,
  { references }: Field,
  records: readonly CheckedRecord[],
): Set<unknown> {
  if (references!.collection !== collection.name || records.length < 2) return new Set();
  return new Set(records.map((record) => record.values[references!.field]).filter((key) => key !== undefined));
}

function requireTargetGrant(context: RecordContext, field: Field): Grant {
  const grant = context.findGrant(field.references!.collection, 'get');
  if (!grant) throw permissionDenied(field.references!.collection, 'get');
  return grant;
}

async function checkForeignKey(
  context: RecordContext,
  field: Field,
  wanted: readonly unknown[],
  rows: Predicate | null,
  run: RunStatement,
): Promise<void> {
  const { dialect } = context.database;
  const target = context.registry.get(field.references!.collection);
  const targetField = getField(target, field.references!.field);
  const column = sql`${identifier(target.table)}.${identifier(targetField.column!)}`;
  const keys: Param = { storage: targetField.type.storage!, list: true, read: () => wanted };
  const where = compileWhere([() => dialect.isIn(column, keys), rows], false, target, new StatementScope(dialect));
  const statement = compile(dialect, sql`SELECT count(DISTINCT ${column}) FROM ${identifier(target.table)}${where}`);
  const [row] = await run(
    bind(
      dialect,
      statement,
      createBindEnvironment({
        variables: context.variables,
        now: context.clock.now(),
        version: context.snapshotVersion.version,
      }),
    ),
  );
  if (Number(row![0]) < wanted.length) throw referenceMissing(field);
}

function referenceMissing(field: Field): ApiError {
  return new ApiError(
    'REFERENCE_MISSING',
    `"${field.name}" names a record of ${field.references!.collection} that does not exist.`,
    {
      details: { [field.name]: 'There is no such record.' },
    },
  );
}

/** A value by which relations name a record changes only while none does. Fields that the caller may not read are not named. */
function stillReferenced(
  context: RecordContext,
  { name }: Collection,
  field: string,
  referencing: readonly Reference[],
): ApiError {
  const fields = referencing
    .filter((each) => each.field.references!.field === field && mayReadReference(context, each))
    .map((each) => `${each.child.name}.${each.field.name}`);
  const names = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
  return new ApiError(
    'DEPENDANTS_EXIST',
    `Other records name this record of ${name} by its "${field}"${names}; let them name another one first.`,
    { details: { [field]: 'Other records name this one by it.' } },
  );
}
