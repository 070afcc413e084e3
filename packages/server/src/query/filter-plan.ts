import { isWellFormedJson } from '../base/well-formed.ts';
import type { BindEnvironment } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { formatNames } from '../protocol/known-names.ts';
import { limits } from '../protocol/limits.ts';
import { getOperator, type Operator, operators, readPresence } from '../protocol/operators.ts';
import type { ParsedFilter, ParsedOperand } from '../protocol/record-request.ts';
import { invalidOperand } from '../schema/field-type.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { expectedValue } from '../schema/value-schema.ts';
import type { Grant, GrantLookup, RowFilter } from './grant.ts';
import { visibleThroughRule } from './mail-viewer.ts';
import { toRange, toRangeBetween } from './period.ts';
import { both, countRelations, type Operand, type Predicate, presentCondition, type TrashView } from './predicate.ts';
import { permissionDenied, requireReadableField } from './read-access.ts';
import { datePeriod, isKnownVariable, parseVariable } from './variables.ts';

type OperandFactory = (operand: ParsedOperand, field: Field, operator: string) => Operand;

interface FilterContext {
  readonly registry: Registry;
  /** Null inside a permission's own filter, which may look at anything. */
  readonly findGrant: GrantLookup | null;
  readonly createOperand: OperandFactory;
  /** Relations followed so far by all paths of the filter; null where their number is not limited. */
  readonly relations: { count: number } | null;
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
  registry: Registry,
  findGrant: GrantLookup,
): Predicate {
  return resolveFilter(
    filter,
    collection,
    grant,
    { registry, findGrant, createOperand: createRequestOperand, relations: { count: 0 } },
    0,
  );
}

/**
 * The rows of a grant that are there: not in the trash, unless that is asked for, and not on their way out. What the
 * grant's filter names is not checked against grants, but for mail; one that no longer fits denies.
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
  try {
    const resolved = resolveFilter(
      rows.filter,
      collection,
      null,
      { registry, findGrant: null, createOperand, relations: null },
      0,
    );
    return variables.length === 0 ? resolved : { kind: 'variables', variables, of: resolved };
  } catch (error) {
    if (error instanceof ApiError) return { kind: 'never' };
    throw error;
  }
}

function resolveFilter(
  filter: ParsedFilter,
  collection: Collection,
  grant: Grant | null,
  context: FilterContext,
  depth: number,
): Predicate {
  switch (filter.kind) {
    case 'all':
    case 'any':
      return { kind: filter.kind, of: filter.of.map((each) => resolveFilter(each, collection, grant, context, depth)) };
    case 'not':
      return { kind: 'not', of: resolveFilter(filter.of, collection, grant, context, depth) };
    case 'at':
      return resolvePath(filter.path, filter.of, collection, grant, context, depth);
    case 'test':
      throw new ApiError(
        'FILTER_INVALID',
        `${filter.operator} needs a field: write {"field": {"${filter.operator}": …}}.`,
      );
  }
}

function resolvePath(
  path: readonly string[],
  of: ParsedFilter,
  collection: Collection,
  grant: Grant | null,
  context: FilterContext,
  depth: number,
): Predicate {
  const field = requireReadableField(collection, path[0]!, grant);
  if (!field.relation) {
    if (path.length > 1) throw relationUnknown(collection, path[0]!, path.slice(1).join('.'), grant);
    return resolveConditions(of, field, context);
  }
  if (depth >= limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `A relation path is at most ${limits.pathDepth} deep.`);
  return resolveRelated(path.slice(1), of, field, collection, context, depth);
}

/** @param rest what follows the field in the path. */
function relationUnknown(collection: Collection, name: string, rest: string, grant: Grant | null): ApiError {
  const relations = collection.fields.filter(
    (field) => field.relation && !field.hidden && (grant === null || grant.may(field)),
  );
  const names = formatNames(relations.map((field) => field.name));
  return new ApiError(
    'RELATION_UNKNOWN',
    `"${name}" of ${collection.name} is no relation, so "${rest.slice(0, 120)}" cannot follow it. ${names === '' ? 'It has no relations.' : `Its relations are: ${names}.`}`,
  );
}

function resolveRelated(
  rest: readonly string[],
  of: ParsedFilter,
  field: Field,
  source: Collection,
  context: FilterContext,
  depth: number,
): Predicate {
  const relation = field.relation!;
  const target = context.registry.get(relation.target);
  const access = context.findGrant && requireRelationAccess(field, source, target, context.findGrant, context.registry);
  limitRelations(context, 1 + countRelations(access?.parent ?? null) + countRelations(access?.target ?? null));
  const visible = access
    ? access.target
    : both(presentCondition(target, 'without'), visibleThroughRule(target, context.registry));
  const related = (inner: Predicate | null): Predicate => {
    const predicate: Predicate = { kind: 'related', source, relation, target, of: both(visible, inner) };
    return access?.parent ? { kind: 'all', of: [access.parent, predicate] } : predicate;
  };
  const presence = rest.length === 0 && of.kind === 'test' ? readPresence(of.operator, of.operand.form) : null;
  if (presence !== null) return presence ? related(null) : { kind: 'not', of: related(null) };
  const inner = rest.length > 0 ? ({ kind: 'at', path: rest, of } as const) : of;
  // A value straight on a relation means the key of the related record.
  const keyed = hasBareTest(inner) ? ({ kind: 'at', path: [target.primaryKey.name], of: inner } as const) : inner;
  return related(resolveFilter(keyed, target, access?.grant ?? null, context, depth + 1));
}

/** Planning and preparing take time by the number of subqueries. @throws ApiError `LIMIT_EXCEEDED` */
function limitRelations({ relations }: FilterContext, more: number): void {
  if (relations === null) return;
  relations.count += more;
  if (relations.count > limits.filterRelations)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `A filter follows at most ${limits.filterRelations} relations, those of row filters on the way included. Put conditions on one related record together: {"author": {"name": …, "age": …}}.`,
    );
}

/** What a path through a relation needs: get on the parent row, list or get on the target. */
export function requireRelationAccess(
  field: Field,
  source: Collection,
  target: Collection,
  findGrant: GrantLookup,
  registry: Registry,
): { readonly grant: Grant; readonly parent: Predicate | null; readonly target: Predicate | null } {
  const parent = findGrant(source.name, 'get');
  if (!parent) throw permissionDenied(source.name, 'get');
  if (!parent.may(field))
    throw new ApiError('FIELD_DENIED', `The role may not read "${field.name}" of ${source.name}.`);
  const action = field.relation!.many ? 'list' : 'get';
  const grant = findGrant(target.name, action);
  if (!grant) throw permissionDenied(target.name, action);
  const foreignKey = foreignKeyInTarget(field, target);
  if (foreignKey && !grant.may(foreignKey))
    throw new ApiError('FIELD_DENIED', `The role may not read "${field.name}" of ${source.name}.`);
  return {
    grant,
    parent: planRows(parent.rows, source, registry, 'with'), // whether the row itself is there is asked where it is read
    target: planRows(grant.rows, target, registry),
  };
}

/** The foreign key of a relation where it lies in the target; that of a join is not the target's to show. */
function foreignKeyInTarget({ relation }: Field, target: Collection): Field | undefined {
  const { kind, targetField } = relation!;
  return kind === 'hasMany' || kind === 'hasOne' ? target.byName.get(targetField) : undefined;
}

function hasBareTest(filter: ParsedFilter): boolean {
  if (filter.kind === 'test') return true;
  if (filter.kind === 'all' || filter.kind === 'any') return filter.of.every(hasBareTest);
  return filter.kind === 'not' && hasBareTest(filter.of);
}

function resolveConditions(of: ParsedFilter, field: Field, context: FilterContext): Predicate {
  switch (of.kind) {
    case 'all':
    case 'any':
      return { kind: of.kind, of: of.of.map((each) => resolveConditions(each, field, context)) };
    case 'not':
      return { kind: 'not', of: resolveConditions(of.of, field, context) };
    case 'at':
      throw new ApiError(
        'RELATION_UNKNOWN',
        `"${field.name}" is no relation, so "${of.path.join('.')}" cannot follow it.`,
      );
    case 'test':
      return resolveTest(of.operator, of.operand, field, context);
  }
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
      throw new ApiError('FILTER_INVALID', `${name} on "${field.name}" takes no null; use $null.`);
    return;
  }
  const fitting = Object.entries(operators).filter(([, each]) => field.type.operators.has(each.family));
  throw new ApiError(
    'OPERATOR_MISFIT',
    `${name} does not fit "${field.name}" of the type ${field.type.name}. Use one of: ${formatNames(fitting.map(([each]) => each))}.`,
  );
}

function createRequestOperand(operand: ParsedOperand, field: Field, operator: string): Operand {
  return {
    form: operand.form,
    read: (environment) => {
      const value = environment.values[operand.slot];
      const variable = parseVariable(value);
      if (variable !== null && isKnownVariable(variable))
        return resolveVariable(variable, field, operator, environment, environment.zone);
      return toOperandValue(value, environment.valuesAreText, field, operator, environment, environment.zone);
    },
  };
}

/** A value as an operator compares it: of the field's type, a range of time, or elements of a list. */
function toOperandValue(
  value: unknown,
  isText: boolean,
  field: Field,
  operator: string,
  { now }: Pick<BindEnvironment, 'now'>,
  zone: string,
): unknown {
  const { family, operand } = getOperator(operator);
  if (family === 'date') return toPeriod(value, field, operator, now, zone);
  if (operand === 'list' && !Array.isArray(value))
    throw new ApiError('FILTER_INVALID', `${operator} on "${field.name}" takes a list of values, such as [1, 2].`);
  if (family === 'array') {
    if (!isWellFormedJson(value))
      throw new ApiError('FILTER_INVALID', `${operator} on "${field.name}" names a value that no list can hold.`);
    return (value as unknown[]).map((each) => JSON.stringify(each));
  }
  const one = (each: unknown): unknown => toTypedValue(each, isText, field, operator);
  return operand === 'one' ? one(value) : (value as unknown[]).filter((each) => each !== null).map(one);
}

function toPeriod(value: unknown, { name, type }: Field, operator: string, now: number, zone: string): unknown {
  try {
    return toRangeBetween(value, type.storage === 'text', { now, zone });
  } catch (error) {
    if (error instanceof ApiError) throw new ApiError(error.code, `${operator} on "${name}": ${error.message}`);
    throw error;
  }
}

/**
 * The caller's value; days count from the start of theirs.
 *
 * @returns null where there is none, and where it is none that the operator takes on this field.
 */
function resolveVariable(
  name: string,
  field: Field,
  operator: string,
  environment: BindEnvironment,
  zone: string,
): unknown {
  const value = variableValue(name, field, operator, environment, zone);
  const takesList = getOperator(operator).operand === 'list';
  const whole = takesList && !Array.isArray(value) ? [value] : value;
  if (value === null || (Array.isArray(whole) && whole.length === 0)) return null;
  try {
    return toOperandValue(whole, false, field, operator, environment, zone);
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

function variableValue(
  name: string,
  { type }: Field,
  operator: string,
  { now, variables }: BindEnvironment,
  zone: string,
): unknown {
  const day = datePeriod(name);
  if (day === null) return variables()[name] ?? null;
  const period = { type: day };
  return getOperator(operator).family === 'date' ? period : toRange(period, type.storage === 'text', { now, zone })[0];
}

/** A permission's value: fixed and checked once, or a variable of the caller. */
function createRuleOperand(rows: RowFilter, operand: ParsedOperand, field: Field, operator: string): Operand {
  const variable = rows.variables.get(operand.slot);
  if (variable !== undefined)
    return {
      form: operand.form,
      read: (environment) => resolveVariable(variable, field, operator, environment, 'UTC'),
    };
  const value = rows.values[operand.slot];
  if (getOperator(operator).family === 'date')
    return {
      form: operand.form,
      read: (environment) => toOperandValue(value, false, field, operator, environment, 'UTC'),
    };
  const fixed = operand.slot < 0 ? null : toOperandValue(value, false, field, operator, { now: 0 }, 'UTC');
  return { form: operand.form, read: () => fixed };
}

function toTypedValue(value: unknown, isText: boolean, field: Field, operator: string): unknown {
  const canonical = field.type.readOperand(value, isText);
  if (canonical === invalidOperand) {
    throw new ApiError(
      'FILTER_INVALID',
      `The value of ${operator} on "${field.name}" does not fit the type ${field.type.name}. ${expectedValue(field)}`.trimEnd(),
    );
  }
  getOperator(operator).check?.(canonical, operator, field.name);
  return canonical;
}

/**
 * Checks a row filter on save: it resolves against the schema, and its fixed values fit their fields.
 *
 * @throws ApiError 400 saying what does not hold.
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
  resolveFilter(
    rows.filter,
    collection,
    null,
    { registry, findGrant: null, createOperand, relations: { count: 0 } },
    0,
  );
}
