import { type Caller, findVariable, resolveOperand } from './caller.ts';
import {
  type CollectionModel,
  type Filter,
  findField,
  findRelation,
  type RelationModel,
  type Row,
  splitPath,
} from './model.ts';
import { matchesCondition } from './operators.ts';

/** How a filter resolves relations: the records that are visible there, and the caller. */
export interface View {
  readonly caller: Caller;
  collection(name: string): CollectionModel;
  /** The records that a relation refers to, as far as they are visible. */
  related(collection: CollectionModel, row: Row, relation: RelationModel): readonly Row[];
}

/** Whether a record matches a filter. */
export function matchesFilter(filter: Filter, row: Row, collection: CollectionModel, view: View): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (isEmpty({ [key]: value })) return true;
    if (key === '$and') return filters(value).every((each) => matchesFilter(each, row, collection, view));
    if (key === '$or')
      return filters(value).some((each) => !isEmpty(each) && matchesFilter(each, row, collection, view));
    if (key === '$not') return !matchesFilter(value as Filter, row, collection, view);
    const [name, rest] = splitPath(key);
    const relation = findRelation(collection, name);
    if (relation) return throughRelation(relation, rest === null ? value : { [rest]: value }, row, collection, view);
    return matchesField(value, row[name] ?? null, name, collection, view);
  });
}

/** Whether a filter contains no condition, however deeply it is nested. It is then treated as if it were absent. */
export function isEmpty(filter: Filter): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === '$and' || key === '$or') return filters(value).every(isEmpty);
    return isObject(value) && isEmpty(value);
  });
}

/** Whether some record that the relation refers to satisfies the condition. */
function throughRelation(
  relation: RelationModel,
  condition: unknown,
  row: Row,
  collection: CollectionModel,
  view: View,
): boolean {
  const related = view.related(collection, row, relation);
  const presence = presenceAsked(condition);
  if (presence !== null) return related.length > 0 === presence;
  const target = view.collection(relation.target);
  const inner = isBare(condition) ? { [target.key]: condition } : (condition as Filter);
  return related.some((each) => matchesFilter(inner, each, target, view));
}

function presenceAsked(condition: unknown): boolean | null {
  if (condition === null) return false;
  if (!isObject(condition)) return null;
  if ('$exists' in condition) return condition['$exists'] === true;
  if ('$notExists' in condition) return condition['$notExists'] !== true;
  return null;
}

/** Whether a condition is directly on a relation: it then means the key of the related record. */
function isBare(condition: unknown): boolean {
  if (!isObject(condition)) return true;
  return Object.keys(condition).every((key) => key.startsWith('$') && !['$and', '$or', '$not'].includes(key));
}

function matchesField(
  condition: unknown,
  value: unknown,
  name: string,
  collection: CollectionModel,
  view: View,
): boolean {
  const field = findField(collection, name)!;
  if (Array.isArray(condition)) return matchesCondition('$in', condition, value, field, view.caller);
  if (!isObject(condition)) return matchesCondition('$eq', condition, value, field, view.caller);
  return Object.entries(condition).every(([key, operand]) => {
    if (key === '$not') return !matchesField(operand, value, name, collection, view);
    if (key === '$and') return filters(operand).every((each) => matchesField(each, value, name, collection, view));
    if (key === '$or') return filters(operand).some((each) => matchesField(each, value, name, collection, view));
    return matchesCondition(key, operand, value, field, view.caller);
  });
}

/** Whether every variable of a permission's filter has a value that its field can be compared with. */
export function hasAllVariables(filter: Filter, collection: CollectionModel, view: View): boolean {
  return listConditions(filter, collection, view).every(
    ({ operator, operand, field }) =>
      findVariable(operand) === null || resolveOperand(operand, operator, field, view.caller).value !== undefined,
  );
}

interface Condition {
  readonly operator: string;
  readonly operand: unknown;
  readonly field: NonNullable<ReturnType<typeof findField>>;
}

function listConditions(filter: Filter, collection: CollectionModel, view: View): Condition[] {
  return Object.entries(filter).flatMap(([key, value]): Condition[] => {
    if (key === '$and' || key === '$or')
      return filters(value).flatMap((each) => listConditions(each, collection, view));
    if (key === '$not') return listConditions(value as Filter, collection, view);
    const [name, rest] = splitPath(key);
    const relation = findRelation(collection, name);
    if (relation) {
      const target = view.collection(relation.target);
      const inner = rest === null ? value : { [rest]: value };
      if (presenceAsked(inner) !== null) return [];
      return listConditions(isBare(inner) ? { [target.key]: inner } : (inner as Filter), target, view);
    }
    const field = findField(collection, name)!;
    return listTests(value).map(([operator, operand]) => ({ operator, operand, field }));
  });
}

function listTests(condition: unknown): [string, unknown][] {
  if (Array.isArray(condition)) return [['$in', condition]];
  if (!isObject(condition)) return [['$eq', condition]];
  return Object.entries(condition).flatMap(([key, operand]) => {
    if (key === '$not') return listTests(operand);
    return key === '$and' || key === '$or'
      ? filters(operand).flatMap(listTests)
      : [[key, operand] as [string, unknown]];
  });
}

/** `$and` and `$or` take a list, or one filter. */
function filters(value: unknown): Filter[] {
  return Array.isArray(value) ? (value as Filter[]) : [value as Filter];
}

function isObject(value: unknown): value is Filter {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
