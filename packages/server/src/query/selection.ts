import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { requireRelationAccess } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import type { AccessContext } from './plan-context.ts';
import type { Predicate } from './predicate.ts';
import { fieldUnknown, requireReadableField } from './read-access.ts';

/** What a record shows: its own fields, and the related records appended to it. */
export interface Selection {
  readonly collection: Collection;
  readonly fields: readonly Field[];
  readonly appends: readonly Append[];
}

export interface Append {
  readonly field: Field;
  /** Dotted from the root, for error messages. */
  readonly path: string;
  readonly selection: Selection;
  /** Target rows that the caller may see; null: all. */
  readonly rows: Predicate | null;
  /** Source rows from which the append may be followed; null: all that are read. */
  readonly parent: Predicate | null;
}

type Names = Pick<RecordRequest, 'fields' | 'except' | 'appends'>;

/** Names of one level, and those of deeper levels by their first step. */
interface FieldLevel {
  readonly own: readonly string[] | null;
  readonly deeper: ReadonlyMap<string, string[]>;
}

/**
 * Resolves fields, except and appends of a request.
 *
 * `fields` names at a level choose that level's fields; `author.name` chooses on the appended author (and appends it).
 *
 * @throws ApiError 400 for unknown names, 403 for denied ones.
 */
export function planSelection(names: Names, collection: Collection, grant: Grant, context: AccessContext): Selection {
  return resolveSelection({ path: '', names }, collection, grant, context);
}

/** One level of a selection: the names that choose its fields, and its dotted path from the root. */
interface SelectionLevel {
  readonly path: string;
  readonly names: Names;
}

function resolveSelection(
  { path, names }: SelectionLevel,
  collection: Collection,
  grant: Grant,
  context: AccessContext,
): Selection {
  const fields = splitByLevel(names.fields);
  const except = splitByLevel(names.except);
  const chosen = (fields.own ?? []).map((name) => requireReadableField(collection, name, grant));
  const appends = splitByLevel([
    ...names.appends,
    ...chosen.filter((field) => field.relation).map((field) => field.name),
  ]);
  const relations = new Set([...(appends.own ?? []), ...appends.deeper.keys(), ...fields.deeper.keys()]);
  for (const name of except.own ?? []) if (!collection.byName.has(name)) throw fieldUnknown(collection, name, grant);
  const hidden = new Set(except.own ?? []);
  // An append that except removes is resolved too, so that a denied one is refused.
  const appended = [...relations].map((name) => {
    const field = requireReadableField(collection, name, grant);
    const nested: Names = {
      fields: fields.deeper.get(name) ?? null,
      except: except.deeper.get(name) ?? null,
      appends: appends.deeper.get(name) ?? [],
    };
    const level = { path: path === '' ? name : `${path}.${name}`, names: nested };
    return resolveAppend(field, level, { collection, grant }, context);
  });
  return {
    collection,
    fields: ownFields(collection, fields.own === null ? null : chosen, hidden, grant),
    appends: sortAppends(
      appended.filter(({ field }) => !hidden.has(field.name)),
      collection,
    ),
  };
}

function ownFields(
  collection: Collection,
  chosen: readonly Field[] | null,
  hidden: ReadonlySet<string>,
  grant: Grant,
): Field[] {
  const wanted = chosen === null ? null : new Set(chosen.map((field) => field.name));
  return collection.fields.filter(
    (field) =>
      field.column !== null &&
      !field.type.secret &&
      !hidden.has(field.name) &&
      (wanted ? wanted.has(field.name) : grant.may(field)),
  );
}

function sortAppends(appends: readonly Append[], collection: Collection): Append[] {
  const order = new Map(collection.fields.map((field, index) => [field.name, index]));
  const readIndex = ({ field }: Append): number => order.get(field.name) ?? 0;
  return [...appends].sort((first, second) => readIndex(first) - readIndex(second));
}

function resolveAppend(
  field: Field,
  { path, names }: SelectionLevel,
  source: { readonly collection: Collection; readonly grant: Grant },
  context: AccessContext,
): Append {
  if (!field.relation)
    throw new ApiError('RELATION_UNKNOWN', `"${path.slice(0, 120)}" is not a relation, so it cannot be appended.`);
  if (path.split('.').length > limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `"appends" follow at most ${limits.pathDepth} relations.`);
  const target = context.registry.get(field.relation.target);
  const access = requireRelationAccess(field, source.collection, target, context);
  const hasSameRows = context.findGrant(source.collection.name, 'get')?.identity === source.grant.identity;
  return {
    field,
    path,
    selection: resolveSelection({ path, names }, target, access.grant, context),
    rows: access.target,
    parent: hasSameRows ? null : access.parent,
  };
}

function splitByLevel(names: readonly string[] | null): FieldLevel {
  if (names === null) return { own: null, deeper: new Map() };
  const own: string[] = [];
  const deeper = new Map<string, string[]>();
  for (const name of names) {
    const dot = name.indexOf('.');
    if (dot < 0) own.push(name);
    else deeper.set(name.slice(0, dot), [...(deeper.get(name.slice(0, dot)) ?? []), name.slice(dot + 1)]);
  }
  return { own: own.length > 0 ? own : null, deeper };
}
