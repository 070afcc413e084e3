/**
 * What an index must provide for a read: the fields that its conditions compare, and the order of its records. It
 * contains names and operators, never values.
 */
import type { Dialect } from '../database/dialect.ts';
import { type Collection, type Field, getField } from '../schema/registry.ts';
import { type Predicate, presentCondition } from './predicate.ts';
import type { SortKey } from './sort-plan.ts';

/** The conditions on the records of one collection, by how an index finds the records that match them. */
export interface ConditionNeed {
  readonly collection: Collection;
  /** Fields that equal one value. */
  readonly equal: readonly Field[];
  /** Fields that are in a range, or one of several values. */
  readonly ranges: readonly Field[];
  /** Whether further conditions are tested record by record. */
  readonly hasOthers: boolean;
  /** All fields that the read names. */
  readonly named: readonly Field[];
}

/** What an index must provide for the statements of a read. */
export interface IndexNeed extends ConditionNeed {
  /** The fields of the order without the primary key at its end; null: no index has this order. */
  readonly order: readonly Field[] | null;
  /** The conditions on related records that the read finds first. */
  readonly related: readonly ConditionNeed[];
  /** The branches of each `$or` in which every branch compares fields: indexes find them if each branch has one. */
  readonly alternatives: readonly (readonly ConditionNeed[])[];
  /** The fields in which a list searches for texts, as far as they lack a search index. */
  readonly searched: readonly Field[];
  /** The conditions and the sort as they are shown, such as `views $gt` and `-createdAt`. */
  readonly conditions: readonly string[];
  readonly sort: readonly string[];
}

/**
 * What an index must provide for a read.
 *
 * @param keys of its order; null: the read has no order.
 * @returns null for a collection whose indexes are not changed by requests.
 */
export function planNeed(
  condition: Predicate | null,
  keys: readonly SortKey[] | null,
  collection: Collection,
  dialect: Dialect,
): IndexNeed | null {
  if (collection.system || collection.internal) return null;
  const found = new NeedBuilder(collection);
  if (condition !== null) found.add(condition);
  for (const key of keys ?? []) found.addSort(key);
  const need = found.toNeed();
  return {
    ...need,
    order: keys && findIndexOrder(keys, need, dialect),
    related: found.related.map((each) => each.toNeed()),
    alternatives: found.alternatives,
    searched: [],
    conditions: [...new Set(found.conditions)].sort(),
    sort: describeSort(keys ?? []),
  };
}

/** Identifies the reads with equal needs. */
export function identifyNeed({ collection, conditions, sort, searched }: IndexNeed): string {
  return JSON.stringify([collection.id, conditions, sort, searched.map(({ id }) => id)]);
}

/** The terms of a sort, without the primary key at its end. */
function describeSort(keys: readonly SortKey[]): string[] {
  const terms = keys.map(({ steps, field, descending }) => {
    const path = [...steps.map((step) => step.field.name), field.name].join('.');
    return descending ? `-${path}` : path;
  });
  return terms.length > 1 ? terms.slice(0, -1) : terms;
}

/**
 * The order that an index can have: own fields in one direction. The primary key follows in every index.
 *
 * If the index has nulls at the other end, a list from its start reads the rows with null as a separate segment, see
 * `fromStart`.
 */
function findIndexOrder(
  keys: readonly SortKey[],
  { collection: { primaryKey }, equal }: ConditionNeed,
  dialect: Dialect,
): readonly Field[] | null {
  const [first, ...rest] = keys;
  const readsNullsApart = equal.length === 0 && rest.length > 0;
  const isOrdered = keys.every(
    ({ steps, field, descending, nullable }) =>
      steps.length === 0 &&
      isIndexable(field) &&
      descending === first?.descending &&
      (!nullable || dialect.indexGivesNullsLast(descending) || (field === first?.field && readsNullsApart)),
  );
  return isOrdered ? keys.map(({ field }) => field).filter((field) => field !== primaryKey) : null;
}

/** Long texts can exceed the length of an index entry, so that they could no longer be written. */
function isIndexable({ type }: Field): boolean {
  return type.sortable && type.name !== 'text';
}

const equalityOperators: ReadonlySet<string> = new Set(['$eq', '$null', '$isTruly']);
const rangeOperators: ReadonlySet<string> = new Set([
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$between',
  '$in',
  '$dateOn',
  '$dateBefore',
  '$dateAfter',
  '$dateBetween',
]);

/** Collects the conditions on one collection. */
class NeedBuilder {
  readonly related: NeedBuilder[] = [];
  readonly alternatives: ConditionNeed[][] = [];
  readonly conditions: string[] = [];
  readonly #collection: Collection;
  readonly #named = new Set<Field>();
  readonly #equal = new Set<Field>();
  readonly #ranges = new Set<Field>();
  /** Conditions that nearly all records match, and that every read has. */
  readonly #usual: string | null;
  #hasOthers = false;

  constructor(collection: Collection) {
    this.#collection = collection;
    const usual = presentCondition(collection, 'without');
    this.#usual = usual && identifyPredicate(usual);
  }

  toNeed(): ConditionNeed {
    const { primaryKey } = this.#collection;
    const ranges = [...this.#ranges].filter((field) => !this.#equal.has(field) && field !== primaryKey);
    return {
      collection: this.#collection,
      equal: [...this.#equal].filter((field) => field !== primaryKey),
      ranges,
      hasOthers: this.#hasOthers,
      named: [...this.#named],
    };
  }

  /** Adds the fields that a sort names, also those along relations. */
  addSort({ steps, field }: Pick<SortKey, 'steps' | 'field'>): void {
    const [step, ...rest] = steps;
    this.#named.add(step?.field ?? field);
    if (step) this.#addTarget(step.target, (target) => target.addSort({ steps: rest, field }));
  }

  /** Adds a condition that all records match. */
  add(predicate: Predicate): void {
    if (identifyPredicate(predicate) === this.#usual) return;
    switch (predicate.kind) {
      case 'all':
        for (const each of predicate.of) this.add(each);
        return;
      case 'variables':
        this.add(predicate.of);
        return;
      case 'test':
        this.#addTest(predicate);
        return;
      case 'within':
        this.#addWithin(predicate);
        return;
      case 'related':
        this.#addRelated(predicate);
        return;
      default:
        this.#addOther(predicate);
    }
  }

  #addTest({ field, operator, operand }: Extract<Predicate, { kind: 'test' }>): void {
    const name = operand.form === 'null' ? '$null' : operator;
    this.conditions.push(`${field.name} ${name}`);
    this.#named.add(field);
    if (!isIndexable(field)) this.#hasOthers = true;
    else if (equalityOperators.has(name)) this.#equal.add(field);
    else if (rangeOperators.has(name)) this.#ranges.add(field);
    else this.#hasOthers = true;
  }

  /** The relation of one record names the records by a field, or by their keys. */
  #addWithin({ source, relation }: Extract<Predicate, { kind: 'within' }>): void {
    this.conditions.push(`${source.name} $within`);
    const field = getField(this.#collection, relation.targetField);
    this.#named.add(field);
    (relation.through ? this.#ranges : this.#equal).add(field);
  }

  #addRelated({ source, relation, target, of }: Extract<Predicate, { kind: 'related' }>): void {
    const path = findRelationName(source, relation.sourceField, target);
    const inner = this.#addTarget(target, (builder) => of && builder.add(of));
    const field = getField(this.#collection, relation.sourceField);
    this.#named.add(field);
    this.#ranges.add(field);
    this.conditions.push(...(inner.conditions.length > 0 ? inner.conditions.map((each) => `${path}.${each}`) : [path]));
    this.#hasOthers = true;
  }

  #addOther(predicate: Predicate): void {
    this.#hasOthers = true;
    this.conditions.push(identifyPredicate(predicate));
    this.#addNames(predicate);
    if (predicate.kind === 'any') this.#addAlternatives(predicate.of);
  }

  /** Notes the branches of an `$or`, unless one of them could not be found by an index of this collection. */
  #addAlternatives(branches: readonly Predicate[]): void {
    const needs: ConditionNeed[] = [];
    for (const each of branches) {
      const branch = new NeedBuilder(this.#collection);
      branch.add(each);
      const need = branch.toNeed();
      if (need.equal.length + need.ranges.length === 0 || branch.related.length > 0) return;
      needs.push(need);
    }
    this.alternatives.push(needs);
  }

  /** Notes the fields that a condition names, also along relations. */
  #addNames(predicate: Predicate): void {
    switch (predicate.kind) {
      case 'all':
      case 'any':
        for (const each of predicate.of) this.#addNames(each);
        return;
      case 'not':
      case 'variables':
        this.#addNames(predicate.of);
        return;
      case 'test':
        this.#named.add(predicate.field);
        return;
      case 'within':
        this.#named.add(getField(this.#collection, predicate.relation.targetField));
        return;
      case 'related': {
        const { relation, target, of } = predicate;
        this.#named.add(getField(this.#collection, relation.sourceField));
        this.#addTarget(target, (inner) => of && inner.#addNames(of));
        return;
      }
      default:
    }
  }

  /** Adds the collection at the end of a relation. */
  #addTarget(collection: Collection, fill: (target: NeedBuilder) => void): NeedBuilder {
    const target = new NeedBuilder(collection);
    fill(target);
    this.related.push(target, ...target.related);
    return target;
  }
}

/** The name of a relation in a condition. */
function findRelationName(source: Collection, sourceField: string, target: Collection): string {
  const found = source.fields.find(
    ({ relation }) => relation?.target === target.name && relation.sourceField === sourceField,
  );
  return found?.name ?? target.name;
}

/** A condition without its values, such as `$or(status $eq, views $gt)`. */
function identifyPredicate(predicate: Predicate): string {
  switch (predicate.kind) {
    case 'all':
    case 'any':
      return `${predicate.kind === 'all' ? '$and' : '$or'}(${predicate.of.map(identifyPredicate).join(', ')})`;
    case 'not':
      return `$not(${identifyPredicate(predicate.of)})`;
    case 'variables':
      return identifyPredicate(predicate.of);
    case 'test':
      return `${predicate.field.name} ${predicate.operand.form === 'null' ? '$null' : predicate.operator}`;
    case 'related':
      return `${findRelationName(predicate.source, predicate.relation.sourceField, predicate.target)}(${predicate.of ? identifyPredicate(predicate.of) : ''})`;
    case 'within':
      return `${predicate.source.name} $within`;
    default:
      return `$${predicate.kind}`;
  }
}
