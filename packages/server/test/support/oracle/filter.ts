import { type Caller, meaningOf, variableIn } from './caller.ts';
import {
  type CollectionModel,
  type Filter,
  fieldNamed,
  type RelationModel,
  type Row,
  relationNamed,
  split,
} from './model.ts';
import { holdsFor } from './operators.ts';

/** How a filter looks through relations: what it may see there, and who asks. */
export interface View {
  readonly caller: Caller;
  collection(name: string): CollectionModel;
  /** The records that a relation names, as far as they may be seen. */
  related(collection: CollectionModel, row: Row, relation: RelationModel): readonly Row[];
}

/** Whether a filter holds for a record. */
export function holds(filter: Filter, row: Row, collection: CollectionModel, view: View): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (isEmpty({ [key]: value })) return true;
    if (key === '$and') return filters(value).every((each) => holds(each, row, collection, view));
    if (key === '$or') return filters(value).some((each) => !isEmpty(each) && holds(each, row, collection, view));
    if (key === '$not') return !holds(value as Filter, row, collection, view);
    const [name, rest] = split(key);
    const relation = relationNamed(collection, name);
    if (relation) return throughRelation(relation, rest === null ? value : { [rest]: value }, row, collection, view);
    return holdsHere(value, row[name] ?? null, name, collection, view);
  });
}

/** No condition, however it is nested: as if it were not written. */
export function isEmpty(filter: Filter): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === '$and' || key === '$or') return filters(value).every(isEmpty);
    return isObject(value) && isEmpty(value);
  });
}

/** Some record that the relation names satisfies the condition. */
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
  return related.some((each) => holds(inner, each, target, view));
}

function presenceAsked(condition: unknown): boolean | null {
  if (condition === null) return false;
  if (!isObject(condition)) return null;
  if ('$exists' in condition) return condition['$exists'] === true;
  if ('$notExists' in condition) return condition['$notExists'] !== true;
  return null;
}

/** A value straight on a relation means the key of the related record. */
function isBare(condition: unknown): boolean {
  if (!isObject(condition)) return true;
  return Object.keys(condition).every((key) => key.startsWith('$') && !['$and', '$or', '$not'].includes(key));
}

function holdsHere(condition: unknown, value: unknown, name: string, collection: CollectionModel, view: View): boolean {
  const field = fieldNamed(collection, name)!;
  if (Array.isArray(condition)) return holdsFor('$in', condition, value, field, view.caller);
  if (!isObject(condition)) return holdsFor('$eq', condition, value, field, view.caller);
  return Object.entries(condition).every(([key, operand]) => {
    if (key === '$not') return !holdsHere(operand, value, name, collection, view);
    if (key === '$and') return filters(operand).every((each) => holdsHere(each, value, name, collection, view));
    if (key === '$or') return filters(operand).some((each) => holdsHere(each, value, name, collection, view));
    return holdsFor(key, operand, value, field, view.caller);
  });
}

/** Whether every variable of a permission's filter has a value that its field can be compared with. */
export function variablesPresent(filter: Filter, collection: CollectionModel, view: View): boolean {
  return conditionsOf(filter, collection, view).every(
    ({ operator, operand, field }) =>
      variableIn(operand) === null || meaningOf(operand, operator, field, view.caller).value !== undefined,
  );
}

interface Condition {
  readonly operator: string;
  readonly operand: unknown;
  readonly field: NonNullable<ReturnType<typeof fieldNamed>>;
}

function conditionsOf(filter: Filter, collection: CollectionModel, view: View): Condition[] {
  return Object.entries(filter).flatMap(([key, value]): Condition[] => {
    if (key === '$and' || key === '$or') return filters(value).flatMap((each) => conditionsOf(each, collection, view));
    if (key === '$not') return conditionsOf(value as Filter, collection, view);
    const [name, rest] = split(key);
    const relation = relationNamed(collection, name);
    if (relation) {
      const target = view.collection(relation.target);
      const inner = rest === null ? value : { [rest]: value };
      if (presenceAsked(inner) !== null) return [];
      return conditionsOf(isBare(inner) ? { [target.key]: inner } : (inner as Filter), target, view);
    }
    const field = fieldNamed(collection, name)!;
    return testsOf(value).map(([operator, operand]) => ({ operator, operand, field }));
  });
}

function testsOf(condition: unknown): [string, unknown][] {
  if (Array.isArray(condition)) return [['$in', condition]];
  if (!isObject(condition)) return [['$eq', condition]];
  return Object.entries(condition).flatMap(([key, operand]) => {
    if (key === '$not') return testsOf(operand);
    return key === '$and' || key === '$or' ? filters(operand).flatMap(testsOf) : [[key, operand] as [string, unknown]];
  });
}

/** `$and` and `$or` take a list, or one filter. */
function filters(value: unknown): Filter[] {
  return Array.isArray(value) ? (value as Filter[]) : [value as Filter];
}

function isObject(value: unknown): value is Filter {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
