/**
 * The check of nested values before anything is written, so that all problems are reported together. It only covers
 * what will certainly be written: a record with a key may already exist, and only the write determines whether it does.
 * Names, grants and links are checked by the write.
 */
import { ApiError, type ErrorDetails, invalidValues } from '../../protocol/api-error.ts';
import { joinErrorPath } from '../../protocol/error-path.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { Collection, Field, Relation } from '../../schema/registry.ts';
import { type RecordContext, readStamp } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { type FieldWrite, refuseDeniedRelations } from '../write/denied-fields.ts';
import { checkCreate, checkUpdate } from '../write/record-input.ts';

/** A field that is a relation. */
export type RelationField = Field & { readonly relation: Relation };

/** Whether a body contains related records, not just the keys that the record itself stores. */
export function hasNested(body: unknown, collection: Collection): boolean {
  return isObject(body) && Object.entries(body).some(([name, value]) => isNested(collection.byName.get(name), value));
}

/** Whether a member of a body is a nested value. */
export function isNested(field: Field | undefined, value: unknown): field is RelationField {
  if (!field || !canNestRecords(field) || value === undefined) return false;
  return field.relation.kind !== 'belongsTo' || isObject(value);
}

/** Whether a body may contain related records under this name. Relations that the server manages have their own rules. */
export function canNestRecords(field: Field): field is RelationField {
  return field.relation !== null && !field.core && !field.serverManaged;
}

/**
 * Checks the values of all bodies and of the records nested in them.
 *
 * @param body one body, or a list of them.
 * @throws ApiError `VALUE_INVALID` with a detail for each problem of all bodies.
 */
export function checkNestedValues({ context, collection, action }: FieldWrite, body: unknown): void {
  // Hooks may fill in what is missing.
  if (context.hooks) return;
  const problems: Record<string, string> = {};
  for (const [index, each] of (Array.isArray(body) ? body : [body]).entries()) {
    if (!isObject(each)) continue;
    const path = Array.isArray(body) ? `[${index}]` : '';
    try {
      collectProblems(context, { collection, action, body: each, path, depth: 0, linked: null }, problems);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // The write itself refuses what is not about values, in its own order. A malformed body does not hide the problems
      // of the bodies before it.
      if (error.label !== 'Bad Request' || Object.keys(problems).length === 0) return;
    }
  }
  if (Object.keys(problems).length > 0) throw invalidValues(problems);
}

/** A body within the body of the request. */
interface BodyNode extends Omit<FieldWrite, 'context'> {
  readonly body: Readonly<Record<string, unknown>>;
  /** Its path in the names of error details. */
  readonly path: string;
  readonly depth: number;
  /** The foreign key to the record that contains it, which is set when that record is written. */
  readonly linked: string | null;
}

function collectProblems(context: RecordContext, node: BodyNode, problems: Record<string, string>): void {
  const { collection, action, body, path } = node;
  const grant = context.findGrant(collection.name, action);
  if (!grant) throw new ApiError('NO_PERMISSION', `The role does not allow ${action} on ${collection.name}.`);
  const ownValues: Record<string, unknown> = {};
  const nested: NestedField[] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (isNested(field, value)) nested.push({ field, value });
    else ownValues[name] = value;
  }
  const fields = nested.map(({ field }) => field);
  refuseDeniedRelations({ context, collection, action }, fields);
  const check = action === 'create' ? checkCreate : checkUpdate;
  const found = getRules(collection) ? {} : findProblems(() => check(ownValues, collection, grant, readStamp(context)));
  const toOne = fields.filter(({ relation }) => relation.kind === 'belongsTo');
  const given = new Set([node.linked, ...toOne.map(({ relation }) => relation.sourceField)]);
  for (const [name, text] of Object.entries(found)) if (!given.has(name)) problems[joinErrorPath(path, name)] = text;
  for (const each of nested) collectNestedProblems(context, node, each, problems);
}

interface NestedField {
  readonly field: RelationField;
  readonly value: unknown;
}

/** Checks the nested records without a key: they will be created. */
function collectNestedProblems(
  context: RecordContext,
  { path, depth }: BodyNode,
  { field, value }: NestedField,
  problems: Record<string, string>,
): void {
  if (depth >= limits.pathDepth) return;
  const { kind, through, targetField, target } = field.relation;
  const collection = context.registry.get(target);
  const linked = kind === 'belongsTo' || through ? null : targetField;
  const fieldPath = joinErrorPath(path, field.name);
  for (const [index, body] of (Array.isArray(value) ? value : [value]).entries()) {
    if (!isObject(body) || (body[collection.primaryKey.name] ?? null) !== null) continue;
    const errorPath = Array.isArray(value) ? `${fieldPath}[${index}]` : fieldPath;
    collectProblems(
      context,
      { collection, action: 'create', body, path: errorPath, depth: depth + 1, linked },
      problems,
    );
  }
}

function findProblems(check: () => unknown): ErrorDetails {
  try {
    check();
    return {};
  } catch (error) {
    if (error instanceof ApiError && error.code === 'VALUE_INVALID' && error.details) return error.details;
    throw error;
  }
}
