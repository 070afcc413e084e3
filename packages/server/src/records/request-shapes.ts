/**
 * The shapes of the reads of one application on this server: what an index must provide for them, how often they ran,
 * and what their statements cost. A shape contains no values.
 */
import type { Clock } from '../base/clock.ts';
import type { BoundStatement } from '../database/database.ts';
import type { StatementAccess } from '../database/statement-access.ts';
import { type IndexNeed, identifyNeed } from '../query/index-need.ts';
import { type PortableNeed, packNeed, unpackNeed } from '../query/portable-need.ts';
import type { Collection, Registry } from '../schema/registry.ts';

/** How many shapes are kept. When there are more, those whose statements visited the fewest rows are dropped. */
const maxShapes = 500;
const droppedShapes = 100;
/** Characters of a shape's names and operators. Reads with longer ones are not recorded. */
const maxShapeLength = 2000;
/** Statements that wait to be inspected; they hold the values of one request until then. */
const maxWaiting = 50;
/** Characters of such a statement and its values. */
const maxStatementLength = 32 * 1024;
/** The pause between two inspections: each takes the time of planning a statement. */
const inspectionPause = 50;

/** How many of the first calls of a shape are measured, and how many of the later ones. */
const alwaysMeasured = 32;
const measuredEvery = 8;

export interface ShapesParts {
  readonly inspect: (statement: BoundStatement) => Promise<StatementAccess>;
  readonly clock: Clock;
}

/** What one run of a read has cost. */
export interface ShapeRun {
  /** Visited rows, where the engine counts them. */
  readonly visited: number;
  readonly returned: number;
  /** Whether more records match than were returned. */
  readonly hasMore: boolean;
  /** Rows that the total visited besides those that it counted. */
  readonly visitedByTotal: number;
  readonly milliseconds: number;
  readonly statement: BoundStatement;
}

const sumNames = ['measured', 'withMore', 'returned', 'milliseconds', 'visited', 'visitedByTotal'] as const;
type SumName = (typeof sumNames)[number];
/** Sums over the measured calls of a shape. */
type ShapeSums = Record<SumName, number>;

function noSums(): ShapeSums {
  return { measured: 0, withMore: 0, returned: 0, milliseconds: 0, visited: 0, visitedByTotal: 0 };
}

/** What the calls of a shape have cost, in a form that can be sent to another thread. */
export interface ShapeUses {
  readonly need: PortableNeed;
  readonly calls: number;
  readonly access: StatementAccess | null;
  readonly sums: Readonly<ShapeSums>;
}

/** One shape and what its reads have cost since it was first seen. */
export class RequestShape {
  readonly need: IndexNeed;
  calls = 0;
  /** How the engine reads its tables; null: not inspected yet. */
  access: StatementAccess | null = null;
  isStored = true;
  isWaiting = false;
  readonly #owner: RequestShapes;
  #sums = noSums();

  constructor(need: IndexNeed, owner: RequestShapes) {
    this.need = need;
    this.#owner = owner;
  }

  /** The records that its calls have returned. The sums of all calls are extrapolated from those that were measured. */
  get returned(): number {
    return this.#extrapolate('returned');
  }

  get milliseconds(): number {
    return this.#extrapolate('milliseconds');
  }

  /** How many of the calls found more records than they returned. */
  get callsWithMore(): number {
    return this.#extrapolate('withMore');
  }

  /** The rows that the pages of its calls have visited. */
  get visited(): number {
    return this.access?.visited == null ? this.#extrapolate('visited') : this.access.visited * this.calls;
  }

  /** The rows that their totals have visited besides those that they counted. */
  get visitedByTotal(): number {
    const { access } = this;
    return access?.visitedByTotal == null ? this.#extrapolate('visitedByTotal') : access.visitedByTotal * this.calls;
  }

  /** Counts a call that begins now. @returns the time by `performance.now()` if it is measured, otherwise -1. */
  begin(): number {
    this.calls += 1;
    return this.calls <= alwaysMeasured || this.calls % measuredEvery === 0 ? performance.now() : -1;
  }

  /** Takes what was counted since the last time. */
  drain(): ShapeUses {
    const { calls, access } = this;
    const sums = { ...this.#sums };
    this.calls = 0;
    this.#sums = noSums();
    return { need: packNeed(this.need), calls, access, sums };
  }

  /** Adds what another thread has counted. */
  add({ calls, access, sums }: ShapeUses): void {
    this.calls += calls;
    for (const name of sumNames) this.#sums[name] += sums[name];
    this.access ??= access;
  }

  /** Records a call that is measured. */
  record({ visited, returned, hasMore, visitedByTotal, milliseconds, statement }: ShapeRun): void {
    const sums = this.#sums;
    sums.measured += 1;
    sums.returned += returned;
    if (hasMore) sums.withMore += 1;
    sums.visited += visited;
    sums.visitedByTotal += visitedByTotal;
    sums.milliseconds += milliseconds;
    if (this.access === null && !this.isWaiting) this.#owner.inspectLater(this, statement);
    if (!this.isStored && this.visited > 0) this.#owner.restore(this);
  }

  #extrapolate(name: SumName): number {
    const { measured } = this.#sums;
    return measured === 0 ? 0 : (this.#sums[name] * this.calls) / measured;
  }
}

/** Records the shapes of reads. Its size is bounded, whatever is requested. */
export class RequestShapes {
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly #parts: ShapesParts;
  readonly #shapes = new Map<string, RequestShape>();
  readonly #waiting: { readonly shape: RequestShape; readonly statement: BoundStatement }[] = [];
  /** The indexes that dropped shapes have used, by the definition that they were planned for. */
  readonly #used = new WeakMap<Collection, Set<string>>();
  /** When collections changed since the start, by id. */
  readonly #changed = new Map<number, number>();
  #timer: NodeJS.Timeout | null = null;
  /** The inspection that the timer has begun. It never rejects. */
  #underWay: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(parts: ShapesParts) {
    this.#parts = parts;
    this.since = parts.clock.now();
  }

  /** How many shapes are stored. */
  get size(): number {
    return this.#shapes.size;
  }

  /** The shape of a read that is planned now; null if it is not recorded. */
  open(need: IndexNeed | null): RequestShape | null {
    if (need === null) return null;
    const key = identifyNeed(need);
    if (key.length > maxShapeLength) return null;
    const found = this.#shapes.get(key);
    if (found && isSameDefinition(found.need, need)) return found;
    const shape = new RequestShape(need, this);
    this.#store(key, shape);
    return shape;
  }

  /** All shapes whose collections are in the registry as they were when they were planned. */
  listCurrent(registry: Registry): RequestShape[] {
    return [...this.#shapes.values()].filter(({ need, calls }) => calls > 0 && isCurrent(need, registry));
  }

  /** The names of the indexes that reads have used through shapes that are no longer stored. */
  findUsedByDropped(collection: Collection): ReadonlySet<string> {
    return this.#used.get(collection) ?? noIndexes;
  }

  /** Since when the reads of a collection were recorded for its definition as it is now. */
  observedSince({ id }: Collection): number {
    return this.#changed.get(id) ?? this.since;
  }

  /** Notes which collections a change of definitions has changed. */
  noteDefinitions(before: Registry, after: Registry): void {
    if (before === after || before.all().length === 0) return;
    const collections = after.all();
    for (const collection of collections)
      if (before.find(collection.name) !== after.find(collection.name))
        this.#changed.set(collection.id, this.#parts.clock.now());
    const ids = new Set(collections.map(({ id }) => id));
    for (const id of this.#changed.keys()) if (!ids.has(id)) this.#changed.delete(id);
    for (const [key, shape] of this.#shapes) if (!isCurrent(shape.need, after)) this.#remove(key, shape);
  }

  /** Stores a shape again that was dropped, because its reads have become expensive. */
  restore(shape: RequestShape): void {
    const key = identifyNeed(shape.need);
    if (!this.#shapes.has(key)) this.#store(key, shape);
  }

  /** Takes what was counted since the last time, for {@link RequestShapes.add} of another thread. */
  drain(): ShapeUses[] {
    return [...this.#shapes.values()].filter(({ calls }) => calls > 0).map((shape) => shape.drain());
  }

  /** Adds what another thread of this server has counted. */
  add(uses: readonly ShapeUses[], registry: Registry): void {
    for (const each of uses) this.open(unpackNeed(each.need, registry))?.add(each);
  }

  /** Inspects a statement of a shape soon, unless too many are waiting. */
  inspectLater(shape: RequestShape, statement: BoundStatement): void {
    if (this.#isClosed || this.#waiting.length >= maxWaiting || isLong(statement)) return;
    shape.isWaiting = true;
    this.#waiting.push({ shape, statement });
    this.#schedule();
  }

  /** Inspects all statements that wait for it, and ends the inspection that is under way. */
  async settle(): Promise<void> {
    await this.#underWay;
    while (this.#waiting.length > 0 && !this.#isClosed) await this.#inspectNext();
  }

  /** Ends the background work. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#timer || this.#isClosed || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#underWay = this.#inspectNext().then(() => this.#schedule());
    }, inspectionPause).unref();
  }

  async #inspectNext(): Promise<void> {
    const next = this.#waiting.shift();
    if (!next) return;
    const { shape, statement } = next;
    try {
      shape.access = await this.#parts.inspect(statement);
    } catch {
      // The definitions have changed, or the database cannot be reached: the next run of the shape tries again.
    } finally {
      shape.isWaiting = false;
    }
  }

  #store(key: string, shape: RequestShape): void {
    const replaced = this.#shapes.get(key);
    if (replaced && replaced !== shape) replaced.isStored = false;
    shape.isStored = true;
    this.#shapes.set(key, shape);
    if (this.#shapes.size > maxShapes) this.#drop(shape);
  }

  #drop(newest: RequestShape): void {
    const byCost = [...this.#shapes].filter(([, shape]) => shape !== newest);
    byCost.sort(([, a], [, b]) => a.visited - b.visited || a.calls - b.calls);
    for (const [key, shape] of byCost.slice(0, droppedShapes)) {
      this.#remove(key, shape);
      this.#keepUse(shape);
    }
  }

  #remove(key: string, shape: RequestShape): void {
    this.#shapes.delete(key);
    shape.isStored = false;
  }

  #keepUse({ need: { collection, related }, access }: RequestShape): void {
    for (const each of listCollections({ collection, related })) {
      const used = this.#used.get(each) ?? new Set();
      for (const { index } of access?.tables ?? []) if (index !== null && used.size < maxShapes) used.add(index);
      this.#used.set(each, used);
    }
  }
}

function listCollections({ collection, related }: Pick<IndexNeed, 'collection' | 'related'>): Collection[] {
  return [collection, ...related.map((inner) => inner.collection)];
}

function isCurrent(need: IndexNeed, registry: Registry): boolean {
  return listCollections(need).every((each) => registry.find(each.name) === each);
}

/** Whether two equal needs were planned for the same definitions. */
function isSameDefinition(one: IndexNeed, other: IndexNeed): boolean {
  const others = listCollections(other);
  return listCollections(one).every((each, index) => each === others[index]);
}

const noIndexes: ReadonlySet<string> = new Set();

function isLong({ text, values }: BoundStatement): boolean {
  let length = text.length;
  for (const value of values) length += typeof value === 'string' ? value.length : 16;
  return length > maxStatementLength;
}
