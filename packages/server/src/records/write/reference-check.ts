import {
  type BoundStatement,
  bind,
  compile,
  createBindEnvironment,
  type DatabaseFault,
  type Row,
} from '../../database/database.ts';
import { identifier, type Param, sql } from '../../database/sql.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { planRows } from '../../query/filter-plan.ts';
import type { Grant } from '../../query/grant.ts';
import type { Predicate } from '../../query/predicate.ts';
import { StatementScope } from '../../query/predicate-compiler.ts';
import { permissionDenied } from '../../query/read-access.ts';
import { compileWhere } from '../../query/read-plan.ts';
import { requireColumn, requireReference, requireStorage } from '../../schema/field-parts.ts';
import { type Collection, type Field, getField, listColumnFields } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import type { CheckedRecord } from './record-input.ts';
import { findReferencesTo, mayReadReference, type Reference } from './references.ts';
import type { WriteOperation } from './write-steps.ts';

type RunStatement = (statement: BoundStatement) => Promise<Row[]>;

/** The rules of a collection have checked the reference themselves. */
const allRecords: Pick<Grant, 'rows'> = { rows: null };

/** The parts of a write that a check of its references needs. */
type Writer = Pick<WriteOperation, 'context' | 'collection' | 'rules'>;

/**
 * Checks that foreign keys name records that exist and that the caller may get. Both failures have the same error, so
 * that it does not reveal which records exist.
 *
 * @param always checks even if the caller sees every record, so that the database's constraint would be enough.
 * @throws ApiError `REFERENCE_MISSING` naming the field, or 403 without a get grant on the target.
 */
export async function checkReferences(
  { context, collection, rules }: Writer,
  records: readonly CheckedRecord[],
  run: RunStatement,
  always = false,
): Promise<void> {
  for (const field of listColumnFields(collection)) {
    if (!field.references) continue;
    const named = records.filter((record) => record.named.includes(field.name) && record.values[field.name] !== null);
    if (named.length === 0) continue;
    const target = field.references.collection;
    const grant = rules?.checkedReferences?.includes(field.name) ? allRecords : context.findGrant(target, 'get');
    const rows = grant && planRows(grant.rows, context.registry.get(target), context.registry);
    if (!always && grant && rows === null) continue;
    const writtenKeys = collectWrittenKeys(collection, field, records);
    const wanted = [...new Set(named.map((record) => record.values[field.name]))].filter(
      (key) => !writtenKeys.has(key),
    );
    if (wanted.length === 0) continue;
    if (!grant) throw permissionDenied(target, 'get');
    const [found] = await run(bindReferenceCount(context, field, wanted, rows));
    if (Number(found?.[0]) < wanted.length) throw referenceMissing(field);
  }
}

/**
 * Explains what a foreign-key constraint has refused: which key names no record, or which value other records still name.
 * SQLite does not name the constraint, so the references are checked one by one. PostgreSQL runs no statement in a
 * transaction after a fault, and another connection would not see its writes. There the fault itself names the column.
 *
 * @throws ApiError `REFERENCE_MISSING` or `DEPENDANTS_EXIST` naming the field.
 */
export async function explainReferenceFault(
  writer: Writer,
  records: readonly CheckedRecord[],
  { columns }: DatabaseFault,
): Promise<void> {
  const { context, collection } = writer;
  const { database, tx, registry } = context;
  const written = new Set(records.flatMap(({ named }) => named));
  if (tx && database.dialect.faultEndsTransaction) {
    const field = listColumnFields(collection).find(({ column }) => columns.includes(column));
    if (field?.references && written.has(field.name)) throw referenceMissing(field);
  } else await checkReferences(writer, records, (statement) => runUntranslated(context, statement), true);
  const referencing = findReferencesTo(collection, registry).filter(({ field }) =>
    written.has(requireReference(field).field),
  );
  const [first] = referencing;
  if (first) throw stillReferenced(writer, requireReference(first.field).field, referencing);
}

/** Keys that other records of the same write have: the records may name each other. */
function collectWrittenKeys(collection: Collection, field: Field, records: readonly CheckedRecord[]): Set<unknown> {
  const references = requireReference(field);
  if (references.collection !== collection.name || records.length < 2) return new Set();
  return new Set(records.map((record) => record.values[references.field]).filter((key) => key !== undefined));
}

/** Counts the records of the target that have one of the wanted keys and match the row filter of its get grant. */
function bindReferenceCount(
  context: RecordContext,
  field: Field,
  wanted: readonly unknown[],
  rows: Predicate | null,
): BoundStatement {
  const { dialect } = context.database;
  const references = requireReference(field);
  const target = context.registry.get(references.collection);
  const targetField = getField(target, references.field);
  const column = sql`${identifier(target.table)}.${identifier(requireColumn(targetField))}`;
  const keys: Param = { storage: requireStorage(targetField), list: true, read: () => wanted };
  const where = compileWhere([() => dialect.isIn(column, keys), rows], false, target, new StatementScope(dialect));
  const statement = compile(dialect, sql`SELECT count(DISTINCT ${column}) FROM ${identifier(target.table)}${where}`);
  const environment = createBindEnvironment({
    variables: context.variables,
    now: context.clock.now(),
    version: context.snapshotVersion.version,
  });
  return bind(dialect, statement, environment);
}

/** Runs a statement in the open transaction, or on its own. Faults stay as they are. */
export async function runUntranslated({ database, tx }: RecordContext, statement: BoundStatement): Promise<Row[]> {
  if (tx) return tx.run(statement);
  const [rows] = await database.read([statement]);
  return rows ?? [];
}

function referenceMissing(field: Field): ApiError {
  const { collection } = requireReference(field);
  const message = `"${field.name}" refers to a record of ${collection} that does not exist.`;
  return new ApiError('REFERENCE_MISSING', message, { details: { [field.name]: 'This record does not exist.' } });
}

/** A value that other records reference cannot change. The error names only foreign keys that the caller may read. */
function stillReferenced(
  { context, collection: { name } }: Writer,
  field: string,
  referencing: readonly Reference[],
): ApiError {
  const fields = referencing
    .filter((each) => requireReference(each.field).field === field && mayReadReference(context, each))
    .map((each) => `${each.child.name}.${each.field.name}`);
  const names = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
  return new ApiError(
    'DEPENDANTS_EXIST',
    `Other records refer to this record of ${name} by its "${field}"${names}; let them refer to another record first.`,
    { details: { [field]: 'Other records refer to this record by this value.' } },
  );
}
