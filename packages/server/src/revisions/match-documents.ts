/** Finds which entries of two documents are the same, and completes the wanted one. */
import {
  type CollectionEntry,
  compareText,
  type FieldEntry,
  normaliseDocument,
  type RoleEntry,
  type SchemaDocument,
  type WebhookEntry,
} from './document.ts';

/** An entry before and after; absent on the side where it does not exist. */
export interface Pair<Entry> {
  readonly before: Entry | null;
  readonly after: Entry | null;
}

export interface DocumentMatch {
  readonly collections: readonly Pair<CollectionEntry>[];
  readonly roles: readonly Pair<RoleEntry>[];
  readonly webhooks: readonly Pair<WebhookEntry>[];
  /** The new names of renamed collections by their former ones. */
  readonly renamed: ReadonlyMap<string, string>;
  /** The wanted document with the names, keys and foreign keys that it leaves to the present state. */
  readonly result: SchemaDocument;
  /** The fields of a collection that exists on both sides. */
  fields(pair: { readonly before: CollectionEntry; readonly after: CollectionEntry }): readonly Pair<FieldEntry>[];
}

interface Identified {
  readonly id: string;
  readonly name?: string;
  readonly url?: string;
}

/**
 * The name or URL by which an entry without a known id is matched. A webhook with an id is never matched by its URL.
 */
function findName({ id, name, url }: Identified): string | undefined {
  return name ?? (id === '' ? url : undefined);
}

/** @param current with ids. @param wanted may lack ids. */
export function matchDocuments(current: SchemaDocument, wanted: SchemaDocument): DocumentMatch {
  const collections = pairById(
    withSystemCollections(current.collections, wanted.collections),
    withSystemCollections(wanted.collections, current.collections),
  );
  const renamed = new Map(
    collections.flatMap(({ before, after }) =>
      before && after && before.name !== after.name ? [[before.name, after.name] as const] : [],
    ),
  );
  const rename = (name: string): string => renamed.get(name) ?? name;
  const pairedFields = new Map<string, readonly Pair<FieldEntry>[]>();
  for (const { before, after } of collections)
    if (before && after) pairedFields.set(after.name, pairById(before.fields, after.fields));
  const names = new FieldNames(collections, pairedFields);
  // The present definitions with the names that they have after all renames, so that only real differences remain.
  const present = (owner: CollectionEntry, field: FieldEntry): FieldEntry => names.rename(owner, field, rename);
  const completed = collections.map(({ before, after }): Pair<CollectionEntry> => {
    if (!before || !after) return { before, after };
    const pairs = (pairedFields.get(after.name) ?? []).map((pair) => ({
      before: pair.before && present(before, pair.before),
      after: pair.after,
    }));
    const fields = pairs.map((pair) => ({
      before: pair.before,
      after: pair.after && completeRelation(pair.before, pair.after),
    }));
    pairedFields.set(after.name, fields);
    return { before: renameOptions(before, names.of(before)), after };
  });
  keepPrimaryKeys(pairedFields);
  keepForeignKeys(completed, pairedFields);
  const kept = keepJoins(completed, pairedFields);
  const roles = pairById(current.roles, wanted.roles);
  const webhooks = pairById<WebhookEntry>(current.webhooks, wanted.webhooks);
  const after = kept.map((pair): Pair<CollectionEntry> => {
    if (!pair.before || !pair.after) return pair;
    const fields = (pairedFields.get(pair.after.name) ?? []).flatMap((each) => each.after ?? []);
    return { ...pair, after: { ...pair.after, fields } };
  });
  const result = normaliseDocument({
    format: wanted.format,
    collections: after.flatMap((each) => each.after ?? []),
    roles: roles.flatMap((each) => each.after ?? []),
    webhooks: webhooks.flatMap((each) => each.after ?? []),
  });
  const normalised = new Map(result.collections.map((each) => [each.name, each]));
  return {
    collections: after.map((each) => ({ ...each, after: each.after && (normalised.get(each.after.name) ?? null) })),
    roles: roles.map((each) => ({
      ...each,
      after: each.after && (result.roles.find(({ name }) => name === each.after?.name) ?? null),
    })),
    webhooks,
    renamed,
    result,
    fields: (pair) => {
      const fields = new Map(pair.after.fields.map((each) => [each.name, each]));
      return (pairedFields.get(pair.after.name) ?? []).map((each) => ({
        ...each,
        after: each.after && (fields.get(each.after.name) ?? null),
      }));
    },
  };
}

/** A system collection always exists: a document that lacks it says that it has no fields of users. */
function withSystemCollections(
  collections: readonly CollectionEntry[],
  others: readonly CollectionEntry[],
): readonly CollectionEntry[] {
  const missing = others.filter(
    ({ system, name }) => system && !collections.some((each) => each.system && each.name === name),
  );
  return [...collections, ...missing.map(({ name }) => ({ id: name, name, system: true, fields: [] }) as const)];
}

/** Pairs by id, then by name. An entry without an id takes that of its pair. New ones keep an empty id. */
function pairById<Entry extends Identified>(current: readonly Entry[], wanted: readonly Entry[]): Pair<Entry>[] {
  const byId = new Map(current.map((each) => [each.id, each]));
  const used = new Set<Entry>();
  const found = new Map<Entry, Entry>();
  for (const each of wanted) {
    const same = each.id === '' ? undefined : byId.get(each.id);
    if (same) {
      found.set(each, same);
      used.add(same);
    }
  }
  for (const each of wanted) {
    const name = findName(each);
    if (found.has(each) || name === undefined) continue;
    const same = current.find((other) => (other.name ?? other.url) === name && !used.has(other));
    if (same) {
      found.set(each, same);
      used.add(same);
    }
  }
  return [
    ...wanted.map((each) => {
      const before = found.get(each) ?? null;
      return { before, after: before && each.id === '' ? { ...each, id: before.id } : each };
    }),
    ...current.filter((each) => !used.has(each)).map((each) => ({ before: each, after: null })),
  ];
}

/** The names of fields after all renames, by the present name of their collection. */
class FieldNames {
  readonly #byCollection: ReadonlyMap<string, ReadonlyMap<string, string>>;

  constructor(collections: readonly Pair<CollectionEntry>[], fields: ReadonlyMap<string, readonly Pair<FieldEntry>[]>) {
    const listNames = (name: string): [before: string, after: string][] =>
      (fields.get(name) ?? []).flatMap((pair) =>
        pair.before && pair.after ? [[pair.before.name, pair.after.name]] : [],
      );
    this.#byCollection = new Map(
      collections.flatMap(({ before, after }) =>
        before && after ? [[before.name, new Map(listNames(after.name))] as const] : [],
      ),
    );
  }

  of({ name }: { readonly name: string }): (field: string) => string {
    return (field) => this.#byCollection.get(name)?.get(field) ?? field;
  }

  /** The definition of a field with the new names of everything that it refers to. The field keeps its own name. */
  rename(owner: CollectionEntry, field: FieldEntry, renameCollection: (name: string) => string): FieldEntry {
    const { target, through, scopeKey } = field as { target?: string; through?: string; scopeKey?: string };
    if (scopeKey !== undefined) return { ...field, scopeKey: this.of(owner)(scopeKey) };
    if (target === undefined) return field;
    const keyOwner = field.type === 'belongsTo' ? owner.name : (through ?? target);
    const owners = { foreignKey: keyOwner, otherKey: keyOwner, sourceKey: owner.name, targetKey: target };
    const keys = Object.entries(owners).flatMap(([property, name]) =>
      typeof field[property] === 'string' ? [[property, this.of({ name })(field[property])] as const] : [],
    );
    return {
      ...field,
      target: renameCollection(target),
      ...(through !== undefined && { through: renameCollection(through) }),
      ...Object.fromEntries(keys),
    };
  }
}

function renameOptions(entry: CollectionEntry, rename: (name: string) => string): CollectionEntry {
  const { options } = entry;
  if (!options) return entry;
  const indexes = options.indexes?.map((index) => ({ ...index, fields: index.fields.map(rename) }));
  const search = options.search?.map(rename).sort(compareText);
  return { ...entry, options: { ...options, ...(indexes && { indexes }), ...(search && { search }) } };
}

const relationKeys = ['foreignKey', 'otherKey', 'sourceKey', 'targetKey', 'through', 'onDelete'] as const;

/** A relation that does not name its keys keeps its present keys. */
function completeRelation(before: FieldEntry | null, after: FieldEntry): FieldEntry {
  if (before?.type !== after.type || before['target'] !== after['target'] || after['target'] === undefined)
    return after;
  const missing = relationKeys.filter((key) => after[key] === undefined && before[key] !== undefined);
  return { ...after, ...Object.fromEntries(missing.map((key) => [key, before[key]])) };
}

/** Relations that stay, with their collection. */
function* listRelations(
  collections: readonly Pair<CollectionEntry>[],
  fields: ReadonlyMap<string, readonly Pair<FieldEntry>[]>,
): Generator<{ readonly owner: string; readonly field: FieldEntry }> {
  for (const { before, after } of collections) {
    if (!after) continue;
    const own = before ? (fields.get(after.name) ?? []).flatMap((pair) => pair.after ?? []) : after.fields;
    for (const field of own) if (field['target'] !== undefined) yield { owner: after.name, field };
  }
}

/** A primary key need not be listed: it stays, or a new collection gets one. */
function keepPrimaryKeys(fields: Map<string, readonly Pair<FieldEntry>[]>): void {
  for (const [collection, pairs] of fields) {
    if (pairs.some(({ after }) => after?.['primaryKey'] === true)) continue;
    const keep = ({ before, after }: Pair<FieldEntry>): Pair<FieldEntry> =>
      before?.['primaryKey'] === true && !after ? { before, after: before } : { before, after };
    fields.set(collection, pairs.map(keep));
  }
}

/** A foreign key need not be listed: it exists as long as a relation uses it. */
function keepForeignKeys(
  collections: readonly Pair<CollectionEntry>[],
  fields: Map<string, readonly Pair<FieldEntry>[]>,
): void {
  for (const { owner, field } of listRelations(collections, fields)) {
    const name = String(field.type === 'belongsTo' ? owner : (field['through'] ?? field['target']));
    const keys = new Set([field['foreignKey'], field['otherKey']]);
    const pairs = fields.get(name);
    const isKept = ({ before, after }: Pair<FieldEntry>): boolean => !after && keys.has(before?.name);
    if (pairs?.some(isKept))
      fields.set(
        name,
        pairs.map((pair) => (isKept(pair) ? { before: pair.before, after: pair.before } : pair)),
      );
  }
}

/** The join of a relation need not be listed either. */
function keepJoins(
  collections: readonly Pair<CollectionEntry>[],
  fields: Map<string, readonly Pair<FieldEntry>[]>,
): readonly Pair<CollectionEntry>[] {
  const joins = new Set([...listRelations(collections, fields)].map(({ field }) => field['through']));
  return collections.map((pair) => {
    if (!pair.before || pair.after || !joins.has(pair.before.name)) return pair;
    fields.set(
      pair.before.name,
      pair.before.fields.map((each) => ({ before: each, after: each })),
    );
    return { before: pair.before, after: pair.before };
  });
}
