/** Keeps the data of definitions that a schema change destroys for 30 days, and restores it when they are created again. */
import { isoTime } from '../base/clock.ts';
import type { DefinitionContext, DroppedDefinition } from '../collections/definition-context.ts';
import { fillNewColumn } from '../collections/fill-column.ts';
import type { Transaction } from '../database/database.ts';
import {
  advanceKeys,
  type DataTombstone,
  deleteTombstones,
  fillFromTombstone,
  indexTombstone,
  insertFromTombstone,
  insertTombstone,
  type RestoredColumn,
  type RestoredTarget,
  readTombstones,
} from '../database/schema-tombstones.ts';
import { maxGivenKey } from '../schema/number-ranges.ts';
import { type Collection, type ColumnField, type Field, getColumnField, listColumnFields } from '../schema/registry.ts';
import { isEqual, type Members } from './document.ts';
import type { PortableIds } from './read-document.ts';
import { toKnownName } from './run-renames.ts';

/** How long the data of destroyed fields and collections is kept, in days. */
export const tombstoneDays = 30;

/** A column of a tombstone. */
interface KeptColumn {
  /** The portable id of the field; null: the server manages the field, and it is known by its name. */
  readonly id: string | null;
  readonly name: string;
  readonly column: string;
  readonly storage: string;
  /** The portable id of its collection; of a system collection, its name. */
  readonly collection: string;
  /** The rules that decide which values the field can have, see {@link readValueRules}. */
  readonly rules: Members;
  readonly unique: boolean;
  /** No record has null in this column. */
  readonly required: boolean;
}

/** Properties of a field that say nothing about which values it can have. */
const neutralProperties: ReadonlySet<string> = new Set([
  ...['name', 'title', 'description', 'uiSchema', 'defaultValue', 'autoNow', 'autoNowAdd', 'index', 'searchIndex'],
  ...['primaryKey', 'autoIncrement', 'required', 'allowNull', 'unique'], // these are compared by their effect
]);

/** The type of a field, and the options that limit its values. Values are only restored where these are the same. */
function readValueRules({ definition }: Field): Members {
  const limits = Object.entries(definition).filter(
    ([name, value]) => !neutralProperties.has(name) && value !== null && value !== undefined && value !== false,
  );
  return Object.fromEntries(limits);
}

const isRequired = ({ primaryKey, definition: { required, allowNull } }: Field): boolean =>
  primaryKey || required === true || allowNull === false;
const isUnique = ({ primaryKey, definition: { unique } }: Field): boolean => primaryKey || unique === true;

const describeItem = (collection: Collection, ids: PortableIds): string =>
  ids.find('collection', collection.id) ?? collection.name; // the id of a system collection is its name

/** Returns the function that stores the data of dropped definitions. @param ids of the state before the change. */
export function createKeeper(
  context: DefinitionContext,
  ids: PortableIds,
): NonNullable<DefinitionContext['keepDropped']> {
  const { database, clock } = context;
  const now = clock.now();
  const times = { at: isoTime(now), expires: isoTime(now + tombstoneDays * 86_400_000) };
  return async (transaction, { collection, fields }: DroppedDefinition) => {
    const item = describeItem(collection, ids);
    const describe = (field: ColumnField): KeptColumn => {
      const { name, column, type } = field;
      return {
        ...{ id: field.serverManaged ? null : ids.find('field', field.id), name, column, storage: type.storage },
        ...{ collection: item, rules: readValueRules(field), unique: isUnique(field), required: isRequired(field) },
      };
    };
    const { table, primaryKey } = collection;
    if (fields === null) {
      const columns = listColumnFields(collection).map(describe);
      const tombstone = { item, name: toKnownName(collection.name), columns, ...times };
      await insertTombstone(database, transaction, tombstone, { table, columns: null });
      return;
    }
    for (const field of listColumnFields(collection).filter((each) => fields.includes(each))) {
      const id = field.serverManaged ? null : ids.find('field', field.id);
      const source = { table, columns: [primaryKey.column, field.column] } as const;
      const columns = [primaryKey, field].map(describe);
      const name = `${toKnownName(collection.name)}.${toKnownName(field.name)}`;
      const tombstone = { item: id ?? `${item}:${field.name}`, name, columns, ...times };
      await insertTombstone(database, transaction, tombstone, source);
    }
  };
}

/** A definition that was created, for which there may be a tombstone. */
export interface CreatedDefinition {
  /** The portable id; of a field that the server manages, that of its collection with its name. */
  readonly item: string;
  /** The portable id of its collection; of a system collection, its name. */
  readonly owner: string;
  readonly collection: Collection;
  /** Null: the whole collection. */
  readonly field: ColumnField | null;
  /** The portable ids of the fields by their names. */
  readonly fieldIds: ReadonlyMap<string, string>;
}

/**
 * Restores the data of tombstones, and deletes them. A tombstone that does not fit the created definition is kept.
 *
 * @returns what was restored, such as `posts.title`.
 */
export async function restoreTombstones(
  context: DefinitionContext,
  transaction: Transaction,
  created: readonly CreatedDefinition[],
): Promise<string[]> {
  const { database } = context;
  const items = created.map(({ item }) => item);
  const found = await readTombstones(database, transaction, items);
  const used = created.flatMap((definition) => {
    const fitting = found.filter((each) => each.item === definition.item && canRestore(each, definition));
    // The newest one with data: an attempt that was undone has left an empty one.
    const tombstone = fitting.find(({ records }) => records > 0) ?? fitting[0];
    return tombstone ? [{ tombstone, definition }] : [];
  });
  const restorer = new Restorer(context, transaction);
  for (const { tombstone, definition } of used)
    if (!definition.field) await restorer.insertRecords(tombstone, definition);
  for (const { tombstone, definition } of used) await restorer.fillColumns(tombstone, definition);
  const restored = used.map(({ tombstone }) => tombstone);
  await deleteTombstones(database, transaction, restored);
  return restored.map(({ name }) => name);
}

/** Whether the values of a tombstone are valid in a created definition: the whole of a field, or the records of a collection. */
function canRestore(tombstone: DataTombstone, { owner, collection, field, fieldIds }: CreatedDefinition): boolean {
  if ((field !== null) !== isFieldTombstone(tombstone)) return false;
  const pairs = pairColumns(tombstone, collection, fieldIds);
  if (!pairs.some(({ to }) => to.primaryKey)) return false; // the key has another type now
  const findPair = (of: ColumnField): ColumnPair | undefined => pairs.find(({ to }) => to === of);
  if (field) return readKept(tombstone).every((each) => each.collection === owner) && findPair(field) !== undefined;
  return listColumnFields(collection).every((each) => {
    if (each.serverManaged || !isRequired(each)) return true;
    const pair = findPair(each);
    return pair ? pair.required : each.definition.defaultValue !== undefined;
  });
}

const readKept = ({ columns }: DataTombstone): readonly KeptColumn[] => columns as readonly KeptColumn[];
const isFieldTombstone = ({ name }: DataTombstone): boolean => name.includes('.');

interface ColumnPair {
  readonly from: string;
  readonly to: ColumnField;
  /** The values of the tombstone are complete. */
  readonly required: boolean;
}

class Restorer {
  readonly #context: DefinitionContext;
  readonly #transaction: Transaction;

  constructor(context: DefinitionContext, transaction: Transaction) {
    this.#context = context;
    this.#transaction = transaction;
  }

  /** The records without their foreign keys, whose targets may not exist yet. */
  async insertRecords(tombstone: DataTombstone, { collection, fieldIds }: CreatedDefinition): Promise<void> {
    const pairs = pairColumns(tombstone, collection, fieldIds).filter(({ to }) => to.references === null);
    const { database, clock } = this.#context;
    const unpaired = listColumnFields(collection).filter((field) => !pairs.some(({ to }) => to === field));
    const missing = unpaired.filter((field) => field.notNull && field.type.storage === 'datetime');
    await insertFromTombstone(
      database,
      this.#transaction,
      { source: tombstone.table, table: collection.table },
      { columns: pairs.map(toNames), times: missing.map(({ column }) => column), now: isoTime(clock.now()) },
    );
    for (const field of unpaired)
      if (!field.serverManaged && field.references === null)
        await fillNewColumn(this.#context, this.#transaction, collection, field);
    const { column, autoIncrement, type } = collection.primaryKey;
    const key = { table: collection.table, column, max: maxGivenKey(type.storage) };
    if (autoIncrement) await advanceKeys(database, this.#transaction, key);
  }

  /** The values of a field, or the foreign keys of all records; a value whose target does not exist is left out. */
  async fillColumns(tombstone: DataTombstone, { collection, field, fieldIds }: CreatedDefinition): Promise<void> {
    const { database } = this.#context;
    const pairs = pairColumns(tombstone, collection, fieldIds);
    const filled = pairs.filter(({ to }) => (field ? to.name === field.name : to.references !== null));
    const key = pairs.find(({ to }) => to.primaryKey);
    if (!key || filled.length === 0) return;
    await indexTombstone(database, this.#transaction, tombstone.table, key.from);
    const place = { source: tombstone.table, table: collection.table, key: toNames(key) };
    for (const pair of filled)
      await fillFromTombstone(database, this.#transaction, place, {
        ...toNames(pair),
        target: this.#findTarget(pair.to),
      });
    this.#transaction.touch(collection.table);
  }

  #findTarget({ references }: ColumnField): RestoredTarget | null {
    if (!references) return null;
    const target = this.#context.registry.get(references.collection);
    return { table: target.table, column: getColumnField(target, references.field).column };
  }
}

const toNames = ({ from, to }: ColumnPair): RestoredColumn => ({ from, to: to.column });

/** The columns of a tombstone that the collection has now, and whose values are valid there. */
function pairColumns(
  tombstone: DataTombstone,
  collection: Collection,
  fieldIds: ReadonlyMap<string, string>,
): ColumnPair[] {
  const kept = readKept(tombstone);
  return listColumnFields(collection).flatMap((field) => {
    if (field.name === 'deletedWith' && field.serverManaged) return []; // the ids of foreign keys are new
    const id = fieldIds.get(field.name);
    const found = kept.find((each) => (each.id === null ? each.name === field.name : each.id === id));
    if (!found || !isValidIn(found, field)) return [];
    return [{ from: found.column, to: field, required: found.required }];
  });
}

/** Values are valid in a field of the same type with the same limits. So the hash of a password never gets into a readable field. */
function isValidIn({ storage, rules, unique }: KeptColumn, field: ColumnField): boolean {
  return storage === field.type.storage && (unique || !isUnique(field)) && isEqual(rules, readValueRules(field));
}
