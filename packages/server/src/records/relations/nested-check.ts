/**
 * Which members of a body bring related records, and the check of their values before anything is written, so that all
 * problems are listed at once. The check looks only at what certainly will be written: whether a record that is named by
 * its key exists is found out later. Names, grants and links are left to the write itself.
 */
import { ApiError, type ErrorDetails, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import { type RecordContext, readStamp } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { refuseDeniedRelations } from '../write/denied-fields.ts';
import { checkCreate, checkUpdate } from '../write/record-input.ts';

/** Whether a body says more of a relation than the key that the record itself holds. */
export function hasNested(body: unknown, collection: Collection): boolean {
  return isObject(body) && Object.entries(body).some(([name, value]) => isNested(collection.byName.get(name), value));
}

export function isNested(field: Field | undefined, value: unknown): field is Field {
  if (!field || !canNestRecords(field) || value === undefined) return false;
  return field.relation!.kind !== 'belongsTo' || isObject(value);
}

/** Whether a body may bring related records under this name; what the server itself links has rules of its own. */
export function canNestRecords(field: Field): boolean {
  return field.relation !== null && !field.core && !field.serverManaged;
}

/**
 * @param body one body, or a list of them.
 * @throws ApiError `VALUE_INVALID` with a detail for each problem of all bodies.
 */
export function checkNestedValues(
  context: RecordContext,
  collection: Collection,
  action: 'create' | 'update',
  body: unknown,
): void {
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
      // What is not about values is refused by the write, in its own order; a malformed body after others does not hide
      // their problems.
      if (error.label !== 'Bad Request' || Object.keys(problems).length === 0) return;
    }
  }
  if (Object.keys(problems).length > 0) throw invalidValues(problems);
}

/** A body, and where its problems are told. */
interface BodyNode {
  readonly collection: Collection;
  readonly action: 'create' | 'update';
  readonly body: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly depth: number;
  /** The foreign key to the record around it, which is known when that is written. */
  readonly linked: string | null;
}

function collectProblems(context: RecordContext, node: BodyNode, problems: Record<string, string>): void {
  const { collection, action, body, path } = node;
  const grant = context.findGrant(collection.name, action);
  if (!grant) throw new ApiError('NO_PERMISSION', `The role does not allow ${action} on ${collection.name}.`);
  const ownValues: Record<string, unknown> = {};
  const nested: [Field, unknown][] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (isNested(field, value)) nested.push([field, value]);
    else ownValues[name] = value;
  }
  const fields = nested.map(([field]) => field);
  refuseDeniedRelations(context, collection, fields, action);
  const check = action === 'create' ? checkCreate : checkUpdate;
  const found = getRules(collection) ? {} : findProblems(() => check(ownValues, collection, grant, readStamp(context)));
  const toOne = fields.filter(({ relation }) => relation!.kind === 'belongsTo');
  const given = new Set([node.linked, ...toOne.map(({ relation }) => relation!.sourceField)]);
  for (const [name, text] of Object.entries(found)) if (!given.has(name)) problems[joinPath(path, name)] = text;
  for (const [field, value] of nested) collectNestedProblems(context, node, field, value, problems);
}

/** Records without a key are created. */
function collectNestedProblems(
  context: RecordContext,
  { path, depth }: BodyNode,
  field: Field,
  value: unknown,
  problems: Record<string, string>,
): void {
  if (depth >= limits.pathDepth) return;
  const { kind, through, targetField, target } = field.relation!;
  const collection = context.registry.get(target);
  const linked = kind === 'belongsTo' || through ? null : targetField;
  const fieldPath = joinPath(path, field.name);
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

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
