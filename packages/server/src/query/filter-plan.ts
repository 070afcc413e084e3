import type { BindEnvironment } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { formatNames } from '../protocol/known-names.ts';
import { limits } from '../protocol/limits.ts';
import { getOperator, type Operator, operators, readPresence } from '../protocol/operators.ts';
import type { ParsedFilter, ParsedOperand } from '../protocol/record-request.ts';
import { requireRelation } from '../schema/field-parts.ts';
import type { Collection, Field, Registry, Relation } from '../schema/registry.ts';
import type { Grant, GrantLookup, RowFilter } from './grant.ts';
import { createRequestOperand, createRuleOperand, type OperandFactory } from './operand-plan.ts';
import type { AccessContext } from './plan-context.ts';
import { both, countRelations, type Operand, type Predicate, presentCondition, type TrashView } from './predicate.ts';
import { permissionDenied, requireReadableField } from './read-access.ts';
import { buildVisibilityFilter } from './visibility.ts';

interface FilterContext {
  readonly registry: Registry;
  /** Null inside a permission's own filter, which may name any field. */
  readonly findGrant: GrantLookup | null;
  readonly createOperand: OperandFactory;
  /** Relations followed so far by all paths of the filter; null where their number is not limited. */
  readonly relations: { count: number } | null;
}

/** Where names of a filter are resolved. */
interface FilterLevel {
  readonly collection: Collection;
  /** Null inside a permission's own filter. */
  readonly grant: Grant | null;
  /** Relations that were followed on the path to here. */
  readonly depth: number;
}

/**
 * Resolves a request's filter.
 *
 * @param grant of the caller on the collection the filter starts at.
 * @throws ApiError 400 for unknown names and misfits, 403 for denied fields and targets.
 */
export function planFilter(
  filter: ParsedFilter,
  collection: Collection,
  grant: Grant,
  { registry, findGrant }: AccessContext,
): Predicate {
  const context = { registry, findGrant, createOperand: createRequestOperand, relations: { count: 0 } };
  return resolveFilter(filter, { collection, grant, depth: 0 }, context);
}

/**
 * The rows of a grant that readers can see: not in the trash (unless the trash is requested), and not being deleted.
 * Names in the grant's filter are not checked against grants, but see {@link planVisibility}. A filter that no longer
 * matches the definitions matches no row.
 */
export function planRows(
  rows: RowFilter | null,
  collection: Collection,
  registry: Registry,
  trash: TrashView = 'without',
): Predicate | null {
  return both(presentCondition(collection, trash), planRowFilter(rows, collection, registry));
}

function planRowFilter(rows: RowFilter | null, collection: Collection, registry: Registry): Predicate | null {
  if (rows === null) return null;
  const variables: Operand[] = [];
  const createOperand: OperandFactory = (operand, field, operator) => {
    const planned = createRuleOperand(rows, operand, field, operator);
    if (rows.variables.has(operand.slot)) variables.push(planned);
    return planned;
  };
  const context = { registry, findGrant: null, createOperand, relations: null };
  try {
    const resolved = resolveFilter(rows.filter, { collection, grant: null, depth: 0 }, context);
    return variables.length === 0 ? resolved : { kind: 'variables', variables, of: resolved };
  } catch (error) {
    if (error instanceof ApiError) return { kind: 'never' };
    throw error;
  }
}

/**
 * A row filter that follows a relation to records of limited visibility only finds those that its caller can see.
 * Otherwise the author of a row filter could find out, condition by condition, what the records of others contain.
 */
function planVisibility(target: Collection, registry: Registry): Predicate | null {
  return planRowFilter(buildVisibilityFilter(target.traits, true), target, registry);
}

/** Resolves the paths and tests in a filter, and keeps the logic that joins them. */
function resolveLeaves(
  filter: ParsedFilter,
  resolve: (leaf: Extract<ParsedFilter, { kind: 'at' | 'test' }>) => Predicate,
): Predicate {
  switch (filter.kind) {
    case 'all':
    case 'any':
      return { kind: filter.kind, of: filter.of.map((each) => resolveLeaves(each, resolve)) };
    case 'not':
      return { kind: 'not', of: resolveLeaves(filter.of, resolve) };
    default:
      return resolve(filter);
  }
}

function resolveFilter(filter: ParsedFilter, level: FilterLevel, context: FilterContext): Predicate {
  return resolveLeaves(filter, (leaf) => {
    if (leaf.kind === 'at') return resolvePath(leaf.path, leaf.of, level, context);
    const { operator } = leaf;
    throw new ApiError('FILTER_INVALID', `${operator} needs a field: write {"field": {"${operator}": …}}.`);
  });
}

function resolvePath(
  [name = '', ...rest]: readonly string[],
  of: ParsedFilter,
  level: FilterLevel,
  context: FilterContext,
): Predicate {
  const { collection, grant, depth } = level;
  const field = requireReadableField(collection, name, grant);
  if (!field.relation) {
    if (rest.length > 0) throw relationUnknown(collection, name, rest.join('.'), grant);
    return resolveConditions(of, field, context);
  }
  if (depth >= limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `A relation path is at most ${limits.pathDepth} deep.`);
  return resolveRelated({ field, rest, of }, level, context);
}

/** @param rest the part of the path after the field. */
function relationUnknown(collection: Collection, name: string, rest: string, grant: Grant | null): ApiError {
  const relations = collection.fields.filter(
    (field) => field.relation && !field.hidden && (grant === null || grant.may(field)),
  );
  const names = formatNames(relations.map((field) => field.name));
  return new ApiError(
    'RELATION_UNKNOWN',
    `"${name}" of ${collection.name} is not a relation, so "${rest.slice(0, 120)}" cannot follow it. ${names === '' ? 'It has no relations.' : `Its relations are: ${names}.`}`,
  );
}

/** A relation in a path, the part of the path after it, and the conditions at the end of the path. */
interface RelatedConditions {
  readonly field: Field;
  readonly rest: readonly string[];
  readonly of: ParsedFilter;
}

function resolveRelated(
  { field, rest, of }: RelatedConditions,
  { collection: source, depth }: FilterLevel,
  context: FilterContext,
): Predicate {
  const { registry, findGrant } = context;
  const relation = requireRelation(field);
  const target = registry.get(relation.target);
  const access = findGrant && requireRelationAccess(field, source, target, { registry, findGrant });
  limitRelations(context, 1 + countRelations(access?.parent ?? null) + countRelations(access?.target ?? null));
  const visible = access ? access.target : both(presentCondition(target, 'without'), planVisibility(target, registry));
  const related = (inner: Predicate | null): Predicate => {
    const predicate: Predicate = { kind: 'related', source, relation, target, of: both(visible, inner) };
    return access?.parent ? { kind: 'all', of: [access.parent, predicate] } : predicate;
  };
  const presence = rest.length === 0 && of.kind === 'test' ? readPresence(of.operator, of.operand.form) : null;
  if (presence !== null) return presence ? related(null) : { kind: 'not', of: related(null) };
  const inner = rest.length > 0 ? ({ kind: 'at', path: rest, of } as const) : of;
  // A value directly on a relation is compared with the key of the related record.
  const keyed = hasBareTest(inner) ? ({ kind: 'at', path: [target.primaryKey.name], of: inner } as const) : inner;
  const level = { collection: target, grant: access?.grant ?? null, depth: depth + 1 };
  return related(resolveFilter(keyed, level, context));
}

/** The time to plan a filter grows with the number of its subqueries. @throws ApiError `LIMIT_EXCEEDED` */
function limitRelations({ relations }: FilterContext, more: number): void {
  if (relations === null) return;
  relations.count += more;
  if (relations.count > limits.filterRelations)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `A filter can follow at most ${limits.filterRelations} relations, including those of row filters. Combine conditions on one related record: {"author": {"name": …, "age": …}}.`,
    );
}

/** What a caller may see through a relation. */
export interface RelationAccess {
  /** The caller's grant on the target. */
  readonly grant: Grant;
  /** Source rows from which the relation may be followed; null: all. */
  readonly parent: Predicate | null;
  /** Target rows that may be seen; null: all. */
  readonly target: Predicate | null;
}

/**
 * Checks that a path may follow a relation: the caller needs get on the source, and list (or get, for to-one) on the target.
 *
 * @throws ApiError `NO_PERMISSION` or `FIELD_DENIED`.
 */
export function requireRelationAccess(
  field: Field,
  source: Collection,
  target: Collection,
  { registry, findGrant }: AccessContext,
): RelationAccess {
  const parent = findGrant(source.name, 'get');
  if (!parent) throw permissionDenied(source.name, 'get');
  const relation = requireRelation(field);
  const denied = (): ApiError =>
    new ApiError('FIELD_DENIED', `The role may not read "${field.name}" of ${source.name}.`);
  if (!parent.may(field)) throw denied();
  const action = relation.many ? 'list' : 'get';
  const grant = findGrant(target.name, action);
  if (!grant) throw permissionDenied(target.name, action);
  const foreignKey = findForeignKeyInTarget(relation, target);
  if (foreignKey && !grant.may(foreignKey)) throw denied();
  return {
    grant,
    // The statement that reads the source row checks whether it is in the trash.
    parent: planRows(parent.rows, source, registry, 'with'),
    target: planRows(grant.rows, target, registry),
  };
}

/** The foreign key of a relation, if the target has it. Foreign keys of a join are no fields of the target. */
function findForeignKeyInTarget({ kind, targetField }: Relation, target: Collection): Field | undefined {
  return kind === 'hasMany' || kind === 'hasOne' ? target.byName.get(targetField) : undefined;
}

function hasBareTest(filter: ParsedFilter): boolean {
  if (filter.kind === 'test') return true;
  if (filter.kind === 'all' || filter.kind === 'any') return filter.of.every(hasBareTest);
  return filter.kind === 'not' && hasBareTest(filter.of);
}

function resolveConditions(of: ParsedFilter, field: Field, context: FilterContext): Predicate {
  return resolveLeaves(of, (leaf) => {
    if (leaf.kind === 'test') return resolveTest(leaf.operator, leaf.operand, field, context);
    const path = leaf.path.join('.');
    throw new ApiError('RELATION_UNKNOWN', `"${field.name}" is not a relation, so "${path}" cannot follow it.`);
  });
}

function resolveTest(name: string, operand: ParsedOperand, field: Field, context: FilterContext): Predicate {
  const operator = getOperator(name);
  checkOperator(name, operator, operand, field);
  const predicate: Predicate = {
    kind: 'test',
    field,
    operator: operator.compiledAs,
    operand: context.createOperand(operand, field, name),
  };
  const isNegated = operator.complementOf !== undefined;
  const isFalseFlag = operator.operand === 'flag' && operand.form === 'false';
  return isNegated !== isFalseFlag ? { kind: 'not', of: predicate } : predicate;
}

function checkOperator(name: string, operator: Operator, operand: ParsedOperand, field: Field): void {
  const isPlainNull = operand.form === 'null' && operator.acceptsNull === true;
  if (field.type.operators.has(operator.family) || isPlainNull) {
    if (operand.form === 'null' && !isPlainNull)
      throw new ApiError('FILTER_INVALID', `${name} on "${field.name}" does not accept null; use $null.`);
    return;
  }
  const fitting = Object.entries(operators).filter(([, each]) => field.type.operators.has(each.family));
  throw new ApiError(
    'OPERATOR_MISFIT',
    `${name} cannot be used with "${field.name}", which has the type ${field.type.name}. Use one of: ${formatNames(fitting.map(([each]) => each))}.`,
  );
}

/**
 * Checks a row filter on save: it resolves against the schema, and its fixed values fit their fields.
 *
 * @throws ApiError 400 naming what does not fit.
 */
export function checkRowFilter(
  rows: RowFilter,
  collection: Collection,
  registry: Registry,
  environment: BindEnvironment,
): void {
  const createOperand: OperandFactory = (operand, field, operator) => {
    const planned = createRuleOperand(rows, operand, field, operator);
    planned.read(environment);
    return planned;
  };
  const context = { registry, findGrant: null, createOperand, relations: { count: 0 } };
  resolveFilter(rows.filter, { collection, grant: null, depth: 0 }, context);
}
