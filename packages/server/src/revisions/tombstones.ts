/** Keeps the data of definitions that a schema change destroys for 30 days, and restores it when they are created again. */
import { isoTime } from '../base/clock.ts';
import type { DefinitionContext, DroppedDefinition } from '../collections/definition-context.ts';
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
import { type Collection, type ColumnField, getColumnField, listColumnFields } from '../schema/registry.ts';
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
}

const describeItem = (collection: Collection, ids: PortableIds): string =>
  ids.find('collection', collection.id) ?? collection.name; // the id of a system collection is its name

/** Returns what keeps the data of dropped definitions. @param ids of the state before the change. */
export function createKeeper(
  context: DefinitionContext,
  ids: PortableIds,
): NonNullable<DefinitionContext['keepDropped']> {
  const { database, clock } = context;
  const now = clock.now();
  const times = { at: isoTime(now), expires: isoTime(now + tombstoneDays * 86_400_000) };
  return async (transaction, { collection, fields }: DroppedDefinition) => {
    const describe = (field: ColumnField): KeptColumn => {
      const { name, column, type } = field;
      return { id: field.serverManaged ? null : ids.find('field', field.id), name, column, storage: type.storage };
    };
    const { table, primaryKey } = collection;
    if (fields === null) {
      const columns = listColumnFields(collection).map(describe);
      const tombstone = { item: describeItem(collection, ids), name: toKnownName(collection.name), columns, ...times };
      await insertTombstone(database, transaction, tombstone, { table, columns: null });
      return;
    }
    for (const field of listColumnFields(collection).filter((each) => fields.includes(each))) {
      const id = field.serverManaged ? null : ids.find('field', field.id);
      const item = id ?? `${describeItem(collection, ids)}:${field.name}`;
      const source = { table, columns: [primaryKey.column, field.column] } as const;
      const columns = [primaryKey, field].map(describe);
      const tombstone = { item, name: `${toKnownName(collection.name)}.${toKnownName(field.name)}`, columns, ...times };
      await insertTombstone(database, transaction, tombstone, source);
    }
  };
}

/** A definition that was created, for which there may be a tombstone. */
export interface CreatedDefinition {
  /** The portable id; of a field that the server manages, that of its collection with its name. */
  readonly item: string;
  readonly collection: Collection;
  /** Null: the whole collection. */
  readonly field: ColumnField | null;
  /** The portable ids of the fields by their names. */
  readonly fieldIds: ReadonlyMap<string, string>;
}

/** Restores the data of tombstones, and deletes them. @returns the restored fields and collections, such as `posts.title`. */
export async function restoreTombstones(
  context: DefinitionContext,
  transaction: Transaction,
  created: readonly CreatedDefinition[],
): Promise<string[]> {
  const { database } = context;
  const found = await readTombstones(
    database,
    transaction,
    created.map(({ item }) => item),
  );
  const used: { readonly tombstone: DataTombstone; readonly definition: CreatedDefinition }[] = [];
  for (const tombstone of found) {
    const definition = created.find(({ item }) => item === tombstone.item);
    const isFirst = !used.some((each) => each.definition === definition);
    const isSameKind = (definition?.field !== null) === isFieldTombstone(tombstone);
    if (definition && isFirst && isSameKind) used.push({ tombstone, definition });
  }
  const restorer = new Restorer(context, transaction);
  for (const { tombstone, definition } of used)
    if (!definition.field) await restorer.insertRecords(tombstone, definition);
  for (const { tombstone, definition } of used) await restorer.fillColumns(tombstone, definition);
  await deleteTombstones(
    database,
    transaction,
    used.map(({ tombstone }) => tombstone),
  );
  return used.map(({ tombstone }) => tombstone.name);
}

const isFieldTombstone = ({ name }: DataTombstone): boolean => name.includes('.');

interface ColumnPair {
  readonly from: string;
  readonly to: ColumnField;
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
    if (!pairs.some(({ to }) => to.primaryKey)) return; // the key has another type now
    const { database, clock } = this.#context;
    const missing = listColumnFields(collection).filter(
      (field) => field.notNull && !pairs.some(({ to }) => to === field) && field.type.storage === 'datetime',
    );
    await insertFromTombstone(
      database,
      this.#transaction,
      { source: tombstone.table, table: collection.table },
      { columns: pairs.map(toNames), times: missing.map(({ column }) => column), now: isoTime(clock.now()) },
    );
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

/** The columns of a tombstone that the collection has now, with the same storage. */
function pairColumns(
  tombstone: DataTombstone,
  collection: Collection,
  fieldIds: ReadonlyMap<string, string>,
): ColumnPair[] {
  const kept = tombstone.columns as readonly KeptColumn[];
  return listColumnFields(collection).flatMap((field) => {
    if (field.name === 'deletedWith' && field.serverManaged) return []; // the ids of foreign keys are new
    const id = fieldIds.get(field.name);
    const found = kept.find((each) => (each.id === null ? each.name === field.name : each.id === id));
    return found && found.storage === field.type.storage ? [{ from: found.column, to: field }] : [];
  });
}
