/**
 * The model of a filter in the form: conditions in nested groups, of which all, any, not all or none must match. A
 * group can be about a linked record: then a single linked record must match all of its parts.
 */
import type { Filter } from '@tablinum/client';
import type { FilterFields } from './filter-fields.ts';
import { formatOperand, operandProblem, parseOperand } from './operand.ts';
import { findOpposite } from './operators.ts';

export interface Condition {
  readonly kind: 'condition';
  /** Identifies the node in the form. */
  readonly id: number;
  /** The path of a field, such as `title` or `artist.name`. */
  readonly path: string;
  readonly operator: string;
  /** The texts of the operand: none, one, a pair or a list. */
  readonly texts: readonly string[];
}

export interface FilterGroup {
  readonly kind: 'group';
  readonly id: number;
  readonly match: '$and' | '$or';
  /** The group is negated. */
  readonly not: boolean;
  /** The path of relations to the record that the parts apply to; null for the record itself. */
  readonly under: string | null;
  readonly parts: readonly FilterNode[];
}

export type FilterNode = Condition | FilterGroup;

/** The maximum nesting depth of filters on the server. */
export const maxFilterDepth = 16;

let lastId = 0;
function nextId(): number {
  lastId += 1;
  return lastId;
}

export function newCondition(path: string, operator: string): Condition {
  return { kind: 'condition', id: nextId(), path, operator, texts: [] };
}

export function newGroup(given: Partial<Omit<FilterGroup, 'kind' | 'id'>> = {}): FilterGroup {
  return { match: '$and', not: false, under: null, parts: [], ...given, kind: 'group', id: nextId() };
}

/** The filter in the format of the API, without incomplete conditions; null if nothing remains. */
export function toFilter(node: FilterNode, fields: FilterFields): Filter | null {
  if (node.kind === 'condition') {
    const field = fields.fieldAt(node.path);
    const operand = field && parseOperand(field, node.operator, node.texts);
    return operand && { [node.path]: { [node.operator]: operand.value } };
  }
  const groupFields = resolveGroupFields(node, fields);
  const parts = groupFields === null ? [] : node.parts.flatMap((each) => toFilter(each, groupFields) ?? []);
  if (parts.length === 0) return null;
  const joined = { [node.match]: parts };
  const about = node.under === null ? joined : { [node.under]: joined };
  return node.not ? { $not: about } : about;
}

/** Whether every condition is complete. An incomplete condition would be left out and make a rule wider. */
export function isComplete(root: FilterGroup, fields: FilterFields): boolean {
  const isNodeComplete = (node: FilterNode, fields: FilterFields | null): boolean => {
    if (fields === null) return false;
    if (node.kind === 'condition') return toFilter(node, fields) !== null && hasValidOperands(node, fields);
    const groupFields = resolveGroupFields(node, fields);
    return node.parts.length > 0 && node.parts.every((each) => isNodeComplete(each, groupFields));
  };
  return root.parts.every((each) => isNodeComplete(each, fields));
}

/** Whether the server accepts every entered value. Empty values are ignored. */
export function hasValidOperands(node: FilterNode, fields: FilterFields): boolean {
  if (node.kind === 'group') {
    const groupFields = resolveGroupFields(node, fields);
    return groupFields === null || node.parts.every((each) => hasValidOperands(each, groupFields));
  }
  const field = fields.fieldAt(node.path);
  return field === null || node.texts.every((text) => operandProblem(field, node.operator, text) === null);
}

/** The fields that the parts of a group can name. */
export function resolveGroupFields({ under }: FilterGroup, fields: FilterFields): FilterFields | null {
  return under === null ? fields : fields.under(under);
}

export function countConditions(node: FilterNode): number {
  return node.kind === 'condition' ? 1 : node.parts.reduce((sum, each) => sum + countConditions(each), 0);
}

/** How many levels of {@link maxFilterDepth} a group itself uses. */
export function measureGroupDepth({ not, under }: Pick<FilterGroup, 'not' | 'under'>): number {
  return 1 + (not ? 1 : 0) + (under === null ? 0 : 1);
}

/** Thrown for a filter that cannot be shown as groups and conditions. */
class UnrepresentableFilter extends Error {}

/**
 * The groups of conditions that are equivalent to a filter; null if there are none, for example for an unknown field.
 */
export function toFilterModel(filter: Filter | undefined, fields: FilterFields): FilterGroup | null {
  try {
    const nodes = filter ? parseNodes(filter, fields) : [];
    return isSinglePlainGroup(nodes) ? nodes[0] : newGroup({ parts: nodes });
  } catch (error) {
    if (error instanceof UnrepresentableFilter) return null;
    throw error;
  }
}

/** The nodes of a filter object, all of which must match. */
function parseNodes(filter: unknown, fields: FilterFields): FilterNode[] {
  return readMembers(filter).flatMap(([name, value]) =>
    name.startsWith('$')
      ? [parseLogic(name, value, (part) => parseNodes(part, fields))]
      : parseFieldNodes(name, value, fields),
  );
}

function readMembers(value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UnrepresentableFilter();
  return Object.entries(value);
}

function parseLogic(name: string, value: unknown, parsePart: (part: unknown) => FilterNode[]): FilterNode {
  if (name === '$not') {
    const nodes = parsePart(value);
    const [only] = nodes;
    const positive = nodes.length === 1 && only?.kind === 'group' && !only.not ? only : newGroup({ parts: nodes });
    return { ...positive, not: true };
  }
  if (name !== '$and' && name !== '$or') throw new UnrepresentableFilter();
  return newGroup({ match: name, parts: [value].flat().map((part) => wrapInGroup(parsePart(part))) });
}

/** Joins several nodes that must all match into one group. */
function wrapInGroup(nodes: readonly FilterNode[]): FilterNode {
  const [only, ...others] = nodes;
  return only && others.length === 0 ? only : newGroup({ parts: nodes });
}

function isSinglePlainGroup(nodes: readonly FilterNode[]): nodes is readonly [FilterGroup] {
  const [only] = nodes;
  return nodes.length === 1 && only?.kind === 'group' && !only.not && only.under === null;
}

function parseFieldNodes(path: string, value: unknown, fields: FilterFields): FilterNode[] {
  const field = fields.fieldAt(path);
  if (field === null) throw new UnrepresentableFilter();
  return field.target ? parseRelationNodes(path, value, fields) : parseFieldTests(path, value, fields);
}

/** The conditions on one field. Logical operators inside of it become groups. */
function parseFieldTests(path: string, value: unknown, fields: FilterFields): FilterNode[] {
  if (value === null || typeof value !== 'object') return [parseCondition(path, '$eq', value, fields)];
  if (Array.isArray(value)) return [parseCondition(path, '$in', value, fields)];
  return Object.entries(value).map(([name, part]) =>
    name === '$not' || name === '$and' || name === '$or'
      ? parseLogic(name, part, (inner) => parseFieldTests(path, inner, fields))
      : parseCondition(path, name, part, fields),
  );
}

/** The conditions on linked records. One condition becomes a longer path; several become a group about one record. */
function parseRelationNodes(path: string, value: unknown, fields: FilterFields): FilterNode[] {
  const target = fields.under(path);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return parseFieldNodes(`${path}.${target?.key}`, value, fields); // a bare value names the key
  const [member, ...otherMembers] = Object.entries(value);
  if (member && otherMembers.length === 0 && /^\$(notE|e)xists$/.test(member[0]))
    return [parseCondition(path, member[0], member[1], fields)];
  if (target === null) throw new UnrepresentableFilter();
  const nodes = parseNodes(value, target);
  const [only] = nodes;
  if (nodes.length === 1 && only?.kind === 'condition') return [{ ...only, path: `${path}.${only.path}` }];
  return [isSinglePlainGroup(nodes) ? { ...nodes[0], under: path } : newGroup({ under: path, parts: nodes })];
}

function parseCondition(path: string, name: string, value: unknown, fields: FilterFields): Condition {
  const [operator, operand] = normaliseTest(name, value);
  const field = fields.fieldAt(path);
  const texts = field && formatOperand(field, operator, operand);
  if (!texts) throw new UnrepresentableFilter();
  return { ...newCondition(path, operator), texts };
}

/** Replaces the aliases of operators. */
function normaliseTest(name: string, value: unknown): readonly [operator: string, operand: unknown] {
  if (name === '$endWith') return ['$endsWith', value];
  if (value === null && name === '$eq') return ['$null', true];
  if (value === null && name === '$ne') return ['$notNull', true];
  const opposite = findOpposite(name);
  if (opposite === null) return [name, value];
  return [false, 'false', 0, '0'].includes(value as string) ? [opposite, true] : [name, true];
}
