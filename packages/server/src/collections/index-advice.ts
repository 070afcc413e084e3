/** Advice about the indexes of an application: which are missing, and which are not needed. */
import type { ConditionNeed } from '../query/index-need.ts';
import type { RequestShape, RequestShapes } from '../records/request-shapes.ts';
import { type Collection, type Field, getColumnField, type Registry } from '../schema/registry.ts';
import {
  type DefinedIndex,
  type IndexProposal,
  isServed,
  listIndexes,
  listProposedFields,
  proposeAlternatives,
  proposeIndex,
  proposeRelatedIndex,
  proposeSearchIndexes,
  servesAsWell,
  servesProposal,
} from './index-proposal.ts';
import { nameIndex } from './storage.ts';

/**
 * A shape only gets advice if it has at least this many calls and visited rows, and visited at least this many rows for
 * each returned one.
 */
const minCalls = 3;
const minVisited = 1000;
const minVisitedPerReturned = 5;
/** How long the reads of a collection must have been recorded before an unused index is reported. */
const unusedAfterMilliseconds = 24 * 60 * 60 * 1000;
/** Maximum number of shapes that are listed with one piece of advice. */
const maxListedShapes = 5;

/** A shape of reads, as it is shown. */
export interface AdvisedRequest {
  readonly conditions: readonly string[];
  readonly sort: readonly string[];
  readonly calls: number;
  /** Averages of one call. */
  readonly rowsVisited: number;
  readonly rowsReturned: number;
  readonly milliseconds: number;
}

export interface MissingIndex {
  /** `index`: for `options.indexes`; `search`: search indexes, for `options.search`. */
  readonly type: 'index' | 'search';
  readonly collection: string;
  readonly fields: readonly string[];
  readonly summary: string;
  readonly calls: number;
  /** Averages of one call. */
  readonly rowsVisited: number;
  readonly rowsReturned: number;
  readonly milliseconds: number;
  /** How many rows a call would visit with the index; null: fewer, but it depends on the values. */
  readonly expectedRows: number | null;
  /** The fields of further indexes that are missing, without which the requests do not use this one. */
  readonly onlyWith: readonly (readonly string[])[];
  readonly requests: readonly AdvisedRequest[];
}

export interface UnneededIndex {
  readonly collection: string;
  readonly fields: readonly string[];
  readonly summary: string;
  /** `field`: the property `index` of the field; `options`: a member of `options.indexes`. */
  readonly source: 'field' | 'options';
  /** `covered`: another index serves the same reads; `unused`: no recorded read has used it. */
  readonly reason: 'covered' | 'unused';
  /** The fields of the other index. */
  readonly coveredBy: readonly string[] | null;
}

/** The data that the advice is made from, and the caller's view of it. */
export interface AdviceContext {
  readonly shapes: RequestShapes;
  readonly registry: Registry;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly maySee: (collection: Collection, fields: readonly Field[]) => boolean;
}

/** The indexes that the reads of the collections miss, the most expensive reads first. */
export function findMissingIndexes(context: AdviceContext, collections: readonly Collection[]): MissingIndex[] {
  const wanted = new Set(collections);
  const groups: ProposalGroup[] = [];
  for (const shape of context.shapes.listCurrent(context.registry))
    if (isCostly(shape) && isVisible(context, shape))
      for (const proposal of propose(shape))
        if (wanted.has(proposal.collection) && !isServed(proposal)) addProposal(groups, { proposal, shape });
  return groups
    .map((group) => describeMissing(group, groups))
    .sort((a, b) => b.calls * b.rowsVisited - a.calls * a.rowsVisited);
}

/** The indexes of a collection that can be removed. Unique indexes and those of foreign keys are never among them. */
export function findUnneededIndexes(context: AdviceContext, collection: Collection): UnneededIndex[] {
  const indexes = listIndexes(collection);
  const uses = findUses(context, collection);
  const removed = new Set<DefinedIndex>();
  return indexes.flatMap((index): UnneededIndex[] => {
    if (index.unique || index.isRequired) return [];
    const others = indexes.filter((other) => other !== index && !removed.has(other));
    const covering = others.find((other) => covers(other, index, uses.needs));
    const isUnused = uses.isComplete && !uses.names.has(toIndexName(collection, index));
    if (!covering && !isUnused) return [];
    removed.add(index);
    return [describeUnneeded(collection, index, covering ?? null)];
  });
}

function isCostly(shape: RequestShape): boolean {
  const { calls, returned } = shape;
  const rows = countVisited(shape);
  return calls >= minCalls && rows >= calls * minVisited && rows >= minVisitedPerReturned * (returned + calls);
}

/**
 * The rows that the pages of a shape visited. For a shape with conditions, the rows that its totals visited in vain
 * also count, because only an index over a condition avoids these.
 */
function countVisited({ visited, visitedByTotal, need }: RequestShape): number {
  const { equal, ranges, alternatives, searched } = need;
  const hasConditions = equal.length + ranges.length + alternatives.length + searched.length > 0;
  return hasConditions ? Math.max(visited, visitedByTotal) : visited;
}

/** Whether the caller may see all fields that a shape names, also those along its relations. */
function isVisible({ maySee }: AdviceContext, { need }: RequestShape): boolean {
  return [need, ...need.related].every(({ collection, named }) => maySee(collection, named));
}

/** The indexes that would serve a shape. Related tables that are already read through an index need none. */
function propose(shape: RequestShape): IndexProposal[] {
  const { need } = shape;
  const own = proposeIndex(shape);
  const isScanned = (table: string): boolean =>
    shape.access === null || shape.access.tables.some((each) => each.table === table && !each.seeks);
  const related = need.related.filter(({ collection }) => isScanned(collection.table)).map(proposeRelatedIndex);
  const proposals = [own, proposeSearchIndexes(need), ...related, ...(own ? [] : proposeAlternatives(need))];
  return proposals.filter((each) => each !== null);
}

interface Proposed {
  readonly proposal: IndexProposal;
  readonly shape: RequestShape;
}

/** Shapes that one index serves. */
interface ProposalGroup {
  proposal: IndexProposal;
  readonly members: Proposed[];
}

/** Adds a proposal to the group whose index serves it, or whose index it replaces because it has more fields. */
function addProposal(groups: ProposalGroup[], proposed: Proposed): void {
  const { proposal } = proposed;
  const group = findGroup(groups, proposal) ?? groups.find((each) => replaces(proposal, each));
  if (!group) {
    groups.push({ proposal, members: [proposed] });
    return;
  }
  if (replaces(proposal, group)) group.proposal = proposal;
  group.members.push(proposed);
}

/** The group whose index serves a proposal. */
function findGroup(groups: readonly ProposalGroup[], proposal: IndexProposal): ProposalGroup | null {
  const found = groups.find(
    (each) => isSameKind(each.proposal, proposal) && servesProposal(listProposedFields(each.proposal), proposal),
  );
  return found ?? null;
}

function isSameKind(one: IndexProposal, other: IndexProposal): boolean {
  return one.collection === other.collection && one.type === other.type;
}

function replaces(proposal: IndexProposal, group: ProposalGroup): boolean {
  const fields = listProposedFields(proposal);
  return (
    isSameKind(proposal, group.proposal) &&
    fields.length > listProposedFields(group.proposal).length &&
    group.members.every((each) => servesProposal(fields, each.proposal))
  );
}

function describeMissing({ proposal, members }: ProposalGroup, groups: readonly ProposalGroup[]): MissingIndex {
  const { type, collection } = proposal;
  const { name } = collection;
  const fields = listProposedFields(proposal);
  const shapes = [...new Set(members.map(({ shape }) => shape))];
  const requests = shapes.map(describeRequest).sort((a, b) => b.calls * b.rowsVisited - a.calls * a.rowsVisited);
  const calls = requests.reduce((sum, each) => sum + each.calls, 0);
  const average = (key: 'rowsVisited' | 'rowsReturned' | 'milliseconds'): number =>
    round(requests.reduce((sum, each) => sum + each[key] * each.calls, 0) / calls);
  const rowsReturned = average('rowsReturned');
  const expectedRows = members.every((each) => each.proposal.isComplete) ? rowsReturned : null;
  const rowsVisited = estimate(average('rowsVisited'));
  const onlyWith = findFurtherIndexes(members, groups);
  return {
    type,
    collection: name,
    fields,
    summary: `${describeIndex(name, { type, fields })}: ${format(calls)} calls looked at about ${format(rowsVisited)} records each to return ${format(rowsReturned)}; expected ${describeEffect(type, expectedRows, onlyWith)}`,
    calls,
    rowsVisited,
    rowsReturned,
    milliseconds: average('milliseconds'),
    expectedRows,
    onlyWith,
    requests: requests.slice(0, maxListedShapes),
  };
}

/**
 * Further indexes that all shapes need, so that they use this one. As they are advised: with the fields of their
 * groups.
 */
function findFurtherIndexes(members: readonly Proposed[], groups: readonly ProposalGroup[]): string[][] {
  if (members.some(({ proposal }) => proposal.onlyWith.length === 0)) return [];
  const further = members.flatMap(({ proposal }) => proposal.onlyWith.map((each) => findGroup(groups, each)));
  return [...new Set(further)].filter((group) => group !== null).map((group) => listProposedFields(group.proposal));
}

function describeIndex(collection: string, { type, fields }: Pick<MissingIndex, 'type' | 'fields'>): string {
  return `${type === 'search' ? 'search index' : 'index'} on ${collection} (${fields.join(', ')})`;
}

function describeEffect(
  type: MissingIndex['type'],
  expectedRows: number | null,
  onlyWith: readonly (readonly string[])[],
): string {
  if (type === 'search')
    return 'only the records that contain parts of the searched text, if it has three characters or more';
  if (expectedRows !== null) return `about ${format(expectedRows)}`;
  const further = onlyWith.map((fields) => `, together with an index on (${fields.join(', ')})`).join('');
  return `only the records that match these fields${further}`;
}

function describeRequest(shape: RequestShape): AdvisedRequest {
  const { need, calls, returned, milliseconds } = shape;
  return {
    conditions: need.conditions,
    sort: need.sort,
    calls,
    rowsVisited: estimate(countVisited(shape) / calls),
    rowsReturned: round(returned / calls),
    milliseconds: round(milliseconds / calls),
  };
}

/** Visited rows are sampled or estimated, so only two digits are significant. */
function estimate(rows: number): number {
  return Number(rows.toPrecision(2));
}

function round(value: number): number {
  return value < 10 ? Math.round(value * 10) / 10 : Math.round(value);
}

function format(value: number): string {
  return value.toLocaleString('en');
}

/** How the recorded reads use the indexes of a collection. */
interface IndexUses {
  readonly names: ReadonlySet<string>;
  readonly needs: readonly ConditionNeed[];
  /** Whether the index use of all reads has been recorded for long enough. */
  readonly isComplete: boolean;
}

function findUses({ shapes, registry, now }: AdviceContext, collection: Collection): IndexUses {
  const names = new Set(shapes.findUsedByDropped(collection));
  const needs: ConditionNeed[] = [];
  let isComplete = now - shapes.observedSince(collection) >= unusedAfterMilliseconds;
  for (const { need, access } of shapes.listCurrent(registry)) {
    const own = [need, ...need.related].filter((each) => each.collection === collection);
    if (own.length === 0) continue;
    needs.push(...own);
    if (access === null) isComplete = false;
    for (const { index } of access?.tables ?? []) if (index !== null) names.add(index);
  }
  return { names, needs, isComplete };
}

/**
 * Whether another index begins with the fields of this one, and serves every recorded read as well. A unique index may lack
 * the records in the trash, so it replaces no other one.
 */
function covers(other: DefinedIndex, index: DefinedIndex, needs: readonly ConditionNeed[]): boolean {
  if (other.unique || other.fields.length < index.fields.length) return false;
  if (!index.fields.every((name, position) => other.fields[position] === name)) return false;
  if (other.fields.length === index.fields.length) return other.source === 'field' || other.isRequired;
  return needs.every((need) => servesAsWell(other.fields, index.fields, need));
}

function toIndexName(collection: Collection, { fields, unique }: DefinedIndex): string {
  const columns = fields.map((name) => getColumnField(collection, name));
  return nameIndex(collection, columns, unique);
}

function describeUnneeded(
  { name }: Collection,
  { fields, source }: DefinedIndex,
  covering: DefinedIndex | null,
): UnneededIndex {
  const index = `index on ${name} (${fields.join(', ')})`;
  return {
    collection: name,
    fields,
    summary: covering
      ? `${index}: the index on (${covering.fields.join(', ')}) serves the same requests`
      : `${index}: no recorded request has used it`,
    source,
    reason: covering ? 'covered' : 'unused',
    coveredBy: covering?.fields ?? null,
  };
}
