/** Which index would serve a read, and which reads an existing index serves. */
import type { IndexDefinition } from '../protocol/definition.ts';
import type { ConditionNeed, IndexNeed } from '../query/index-need.ts';
import type { RequestShape } from '../records/request-shapes.ts';
import type { Collection, Field } from '../schema/registry.ts';

/** An index that would serve a part of a read. */
export interface IndexProposal {
  /** `search`: search indexes, one for each of the fields. */
  readonly type: 'index' | 'search';
  readonly collection: Collection;
  /** Fields that equal one value. Their order does not matter. */
  readonly equal: readonly Field[];
  /** The fields after the equal ones: the order of the list, or one range. */
  readonly rest: readonly Field[];
  /** Whether the index serves all conditions and the order, so that no record needs to be tested or sorted. */
  readonly isComplete: boolean;
  /** Further proposals for the same read, without which this one does not serve it. */
  readonly onlyWith: readonly IndexProposal[];
}

/** An index has at most ten fields. */
const maxFields = 10;

/** The index that would serve the conditions and the order of a read in its own collection; null if none would. */
export function proposeIndex({ need, calls, callsWithMore }: RequestShape): IndexProposal | null {
  const { collection, ranges, hasOthers, order } = need;
  const equal = need.equal.slice(0, maxFields);
  const ordered = order?.filter((field) => !equal.includes(field)) ?? null;
  const [range] = ranges;
  // If more records match than a page holds, a read in the order of the list ends early. If few match, finding them
  // first is faster.
  const fillsPages = callsWithMore * 2 >= calls;
  const isRangeFirst = range !== undefined && range !== ordered?.[0] && !(fillsPages && ordered && ordered.length > 0);
  const rest = (isRangeFirst ? [range] : (ordered ?? [])).slice(0, maxFields - equal.length);
  if (equal.length + rest.length === 0) return null;
  // An index that only serves the order does not help to find the few records that match other conditions.
  if (equal.length + ranges.length === 0 && hasOthers && !fillsPages) return null;
  const covered = isRangeFirst ? ranges.length === 1 : ranges.every((field) => field === rest[0]);
  return {
    ...emptyProposal,
    collection,
    equal,
    rest,
    isComplete: covered && !hasOthers && (isRangeFirst ? !fillsPages : order !== null),
  };
}

const emptyProposal = { type: 'index', isComplete: false, onlyWith: [] } as const;

/** The index that would find the related records that a read filters by; null if none would. */
export function proposeRelatedIndex({ collection, equal, ranges }: ConditionNeed): IndexProposal | null {
  const rest = ranges.slice(0, 1);
  if (collection.system || collection.internal || equal.length + rest.length === 0) return null;
  return { ...emptyProposal, collection, equal: equal.slice(0, maxFields - rest.length), rest };
}

/** The indexes that would find the branches of the first `$or` of a read, as far as the collection lacks them. */
export function proposeAlternatives({ alternatives: [branches = []] }: IndexNeed): IndexProposal[] {
  const lacking: IndexProposal[] = [];
  for (const each of branches.map(proposeRelatedIndex))
    if (each && !isServed(each) && !lacking.some((other) => servesProposal(listProposedFields(other), each)))
      lacking.push(each);
  return lacking.map((each) => ({ ...each, onlyWith: lacking.filter((other) => other !== each) }));
}

/** The search indexes that would find the records of a list; null if none would. */
export function proposeSearchIndexes({ collection, searched }: IndexNeed): IndexProposal | null {
  return searched.length > 0 ? { ...emptyProposal, type: 'search', collection, equal: searched, rest: [] } : null;
}

/** Whether the collection has an index that serves a proposal. */
export function isServed(proposal: IndexProposal): boolean {
  if (proposal.type === 'search') return false; // only fields without a search index are proposed
  return listIndexes(proposal.collection).some(({ fields }) => servesProposal(fields, proposal));
}

/**
 * Whether an index over these fields serves a proposal: it begins with the fields that are equal, and continues with
 * the rest.
 */
export function servesProposal(
  fields: readonly string[],
  { type, equal, rest }: Pick<IndexProposal, 'type' | 'equal' | 'rest'>,
): boolean {
  const wanted = new Set(equal.map(({ name }) => name));
  if (type === 'search') return equal.every(({ name }) => fields.includes(name));
  const leading = fields.slice(0, wanted.size);
  return (
    leading.length === wanted.size &&
    leading.every((name) => wanted.has(name)) &&
    rest.every(({ name }, index) => fields[wanted.size + index] === name)
  );
}

/** The fields of the proposed index. */
export function listProposedFields({ equal, rest }: IndexProposal): string[] {
  return [...equal, ...rest].map(({ name }) => name);
}

/** Where an index is defined: by a field, or in the options of its collection. */
export interface DefinedIndex {
  readonly fields: readonly string[];
  readonly unique: boolean;
  readonly source: 'field' | 'options';
  /** It belongs to a foreign key or to the position of a sort field: the server needs it. */
  readonly isRequired: boolean;
}

/** The indexes of a collection over its fields, with those that the server adds. */
export function listIndexes({ fields, options, primaryKey }: Collection): DefinedIndex[] {
  const byField = fields.flatMap((field): DefinedIndex[] => {
    const { index, unique = false } = field.definition;
    if (field.column === null || field === primaryKey) return [];
    if (!unique && !index && !field.references) return [];
    const isRequired = field.references !== null || field.referencedKey || field.type.name === 'sort';
    return [{ fields: [field.name], unique, source: 'field', isRequired }];
  });
  const inOptions = (options.indexes ?? [])
    .filter(({ present }) => present === undefined)
    .map(
      ({ fields: names, unique = false }: IndexDefinition): DefinedIndex => ({
        fields: names,
        unique,
        source: 'options',
        isRequired: false,
      }),
    );
  return [...byField, ...inOptions];
}

/** Whether an index serves a read at least as well as the other one does. */
export function servesAsWell(
  fields: readonly string[],
  other: readonly string[],
  need: IndexNeed | ConditionNeed,
): boolean {
  const order = 'order' in need ? need.order : null;
  return measure(fields, need, order) >= measure(other, need, order);
}

/** How much of a need an index serves: the fields it seeks by, and the order or a range after them. */
function measure(names: readonly string[], { equal, ranges }: ConditionNeed, order: readonly Field[] | null): number {
  const wanted = new Set(equal.map(({ name }) => name));
  let seeks = 0;
  while (wanted.has(names[seeks] ?? '')) seeks += 1;
  const rest = names.slice(seeks);
  const ordered = order?.map(({ name }) => name).filter((name) => !wanted.has(name));
  const isOrdered = ordered !== undefined && rest.join() === ordered.join();
  const isRanged = ranges.some(({ name }) => name === rest[0]);
  return 4 * seeks + (isOrdered ? 2 : 0) + (isRanged ? 1 : 0);
}
