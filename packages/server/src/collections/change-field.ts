/**
 * Changes a field: its words, its bounds, its indexes, its name, its type. Data that does not hold under the new
 * definition refuses the change, so that afterwards every record holds.
 */
import { randomBytes } from 'node:crypto';
import { readUncommitted, updateField } from '../database/catalogue.ts';
import { countNulls } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import type { Sql } from '../database/sql.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { referencesTo } from '../records/references.ts';
import { typeOf } from '../schema/field-types.ts';
import { changedRegistry, columnNameOf, type FieldFacts } from '../schema/load-registry.ts';
import { fieldNameProblem } from '../schema/names.ts';
import { type Collection, columnsOf, type Field, makeCollection } from '../schema/registry.ts';
import { changedDefinition } from './changed-definition.ts';
import { changing, logged, runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { changeable } from './drop-field.ts';
import { sameProperty } from './field-differences.ts';
import { checkValues, convertValues } from './field-values.ts';
import { changedReference, relationsBy } from './key-reference.ts';
import { relationsOn } from './relation-needs.ts';
import { renameField } from './rename-field.ts';
import { refuseRepeated, replaceIndexes } from './replace-indexes.ts';
import { columnDefinition, indexesOf } from './storage.ts';
import { storedFacts } from './stored-facts.ts';
import { refuseUngiven, requireFreeName } from './system-fields.ts';

/** Properties on which a relation or the storage of its keys depends. */
const fixedForKeys = new Set(['type', 'unique', 'index', 'dateOnly', 'multiple', 'precision', 'scale']);

/** @throws ApiError 403 core, 404, 409 unique or needed by a relation, 422 with details. */
export async function changeField(
  context: DefinitionContext,
  collectionName: string,
  name: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { collection, field } = changeable(context, collectionName, name);
  const { newName = name, ...properties } = changes;
  checkNewName(newName, name, collection);
  const definition = changedDefinition(field, properties, collection, context.registry);
  refuseUngiven(collection, definition);
  refuseWhatRelationsNeed(context, collection, field, definition);
  const renamed = { ...definition, name: newName as string };
  const work = new FieldChange(context, collection, field, renamed);
  const all = [...keyWith(context, collection, field, renamed), work];
  const refers = all.some((each) => each.refers);
  const tables = [...new Set(all.flatMap((each) => each.tables))];
  const scope = { subject: collectionName, tables, rebuild: work.converts || refers, readable: !refers };
  await work.withColumn(() =>
    changing(context, scope, async (transaction) => {
      for (const each of all) await each.run(transaction);
    }),
  );
  return newName as string;
}

/** A belongsTo and its foreign key are required, and unique, together: the changes of the other one, or of the others. */
function keyWith(
  context: DefinitionContext,
  collection: Collection,
  field: Field,
  definition: FieldDefinition,
): FieldChange[] {
  if (field.relation?.kind === 'belongsTo') return foreignKeyWith(context, collection, field, definition);
  const { required = false } = definition;
  return relationsBy(collection, field, context.registry)
    .filter((each) => each.collection === collection && each.field.definition.required !== undefined)
    .filter((other) => (other.field.definition.required ?? false) !== required)
    .map((other) => new FieldChange(context, collection, other.field, { ...other.field.definition, required }));
}

/** What a belongsTo says of its foreign key, as far as it says something new. */
function foreignKeyWith(
  context: DefinitionContext,
  collection: Collection,
  field: Field,
  { required = false, unique = false }: FieldDefinition,
): FieldChange[] {
  const moved = (name: 'required' | 'unique', wanted: boolean): boolean => (field.definition[name] ?? false) !== wanted;
  if (!moved('required', required) && !moved('unique', unique)) return [];
  const { field: key } = changeable(context, collection.name, field.relation!.sourceField);
  const differs = (name: 'required' | 'unique', wanted: boolean): boolean =>
    moved(name, wanted) && (key.definition[name] ?? false) !== wanted;
  const [requires, distinct] = [differs('required', required), differs('unique', unique) && !key.primaryKey];
  if (!requires && !distinct) return [];
  if (distinct && !unique) refuseWhatNeedsUnique(context, collection, field, key);
  const { index: _, unique: __, ...rest } = key.definition;
  // Foreign keys are indexed, by their unique index where they have one.
  const indexed = unique ? { ...rest, unique } : { ...rest, index: true };
  const after = { ...(distinct ? indexed : key.definition), ...(requires && { required }) };
  return [new FieldChange(context, collection, key, after)];
}

/** @throws ApiError 409 where a hasOne, another unique belongsTo or the key of a relation goes by the same field. */
function refuseWhatNeedsUnique(
  { registry }: DefinitionContext,
  collection: Collection,
  field: Field,
  key: Field,
): void {
  const others = relationsBy(collection, key, registry).filter(
    (each) => each.field !== field && (each.field.relation!.kind === 'hasOne' || each.field.definition.unique),
  );
  const naming = referencesTo(collection, registry).filter((each) => each.field.references!.field === key.name);
  const users = [...others.map((each) => ({ child: each.collection, field: each.field })), ...naming];
  if (users.length > 0)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `"${key.name}" of ${collection.name} must stay unique: ${users.map((each) => `${each.child.name}.${each.field.name}`).join(', ')} needs that. Destroy it first.`,
    );
}

function checkNewName(newName: unknown, name: string, collection: Collection): void {
  const problem = fieldNameProblem(newName);
  if (problem) throw invalidDefinition({ newName: problem });
  if (newName !== name) requireFreeName(collection, newName as string);
}

function refuseWhatRelationsNeed(
  { registry }: DefinitionContext,
  collection: Collection,
  field: Field,
  definition: FieldDefinition,
): void {
  const before = field.definition as unknown as Record<string, unknown>;
  const after = definition as unknown as Record<string, unknown>;
  const moved = [...fixedForKeys].find((key) => !sameProperty(key, before[key], after[key]));
  if (moved === undefined) return;
  const users = relationsOn(collection, field, registry);
  if (users.length > 0 || field.references)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `${collection.name}.${field.name} is the key of ${users.join(', ') || 'a relation'}; its ${moved} cannot change.`,
    );
}

class FieldChange {
  readonly converts: boolean;
  /** What the foreign key does when its target is destroyed changes. */
  readonly refers: boolean;
  readonly #context: DefinitionContext;
  readonly #collection: Collection;
  readonly #before: Field;
  readonly #after: Field;
  readonly #facts: FieldFacts;
  #columnIsThere = false;

  constructor(context: DefinitionContext, collection: Collection, before: Field, definition: FieldDefinition) {
    this.#context = context;
    this.#collection = collection;
    this.#before = before;
    const type = typeOf(definition);
    this.converts = before.column !== null && type.storage !== before.type.storage;
    const references = changedReference(context.registry, collection, before, definition);
    this.refers = references !== before.references;
    const facts = { ...storedFacts(before), references };
    // The new column stands beside the old one for a while, and beside one that a parallel change makes.
    const mark = randomBytes(3).toString('hex');
    this.#facts = this.converts ? { ...facts, base: `v${context.version}${mark}_${definition.name}` } : facts;
    const column = columnNameOf(this.#facts, before.id, collection.system);
    this.#after = { ...before, name: definition.name, definition, type, column, references };
  }

  /** The tables that the change locks: a constraint is changed in both of its tables. */
  get tables(): string[] {
    const { table } = this.#collection;
    if (!this.refers) return [table];
    return [...new Set([table, this.#context.registry.get(this.#after.references!.collection).table])];
  }

  /**
   * Runs the change. On a shared engine the column for converted values is made first, by itself: made inside, it would
   * keep readers off for as long as the values are converted. If the change comes to nothing it is taken away again; one
   * that a crash leaves behind is named by nobody.
   */
  async withColumn(change: () => Promise<void>): Promise<void> {
    const { database, inside, trial } = this.#context;
    if (!this.converts || inside || trial) return change();
    const drop = database.dialect.dropNewColumn(this.#collection.table, this.#after.column!);
    if (!drop) return change();
    await database.write((transaction) => this.#addColumn(transaction));
    this.#columnIsThere = true;
    try {
      await change();
    } catch (error) {
      await database.write((transaction) => this.#dropColumn(transaction, drop)).catch(() => {});
      throw error;
    }
  }

  async run(transaction: Transaction): Promise<void> {
    const { database } = this.#context;
    if (this.#before.column !== null) await this.#store(transaction);
    await updateField(database, transaction, {
      id: this.#before.id,
      name: this.#after.name,
      definition: this.#after.definition,
      facts: this.#facts,
    });
    if (this.#after.name !== this.#before.name)
      await renameField(this.#context, transaction, this.#collection, this.#before.name, this.#after.name);
    transaction.touch(this.#collection.table);
    await logged(this.#context, transaction, 'fields.updated', `${this.#collection.name}.${this.#before.name}`);
  }

  async #store(transaction: Transaction): Promise<void> {
    const { dialect } = this.#context.database;
    const { table } = this.#collection;
    await this.#checkNulls(transaction);
    await this.#checkRepeated(transaction);
    if (this.converts) return this.#convert(transaction);
    if (this.#after.definition.type !== this.#before.definition.type || narrows(this.#before, this.#after))
      await checkValues(this.#context, transaction, this.#collection, this.#after);
    const changed = this.#changedCollection();
    if (this.refers) {
      const columns = columnsOf(changed).map((each) => columnDefinition(each, this.#context.registry));
      const column = columnDefinition(this.#after, this.#context.registry);
      const reference = dialect.replaceReference(table, column, columns, indexesOf(changed));
      await runAll(this.#context, transaction, reference);
    }
    // Where the table was rebuilt it has its indexes already.
    if (!this.refers || dialect.shared) await replaceIndexes(this.#context, transaction, this.#collection, changed);
  }

  async #checkNulls(transaction: Transaction): Promise<void> {
    const needed = (field: Field): boolean =>
      Boolean(field.definition.required) || field.definition.allowNull === false;
    if (!needed(this.#after) || needed(this.#before)) return;
    const nulls = await countNulls(this.#context.database, transaction, this.#place());
    if (nulls > 0) {
      const property = this.#after.definition.required ? 'required' : 'allowNull';
      throw invalidDefinition({
        [property]: `${nulls} records hold null in "${this.#before.name}"; give them values first.`,
      });
    }
  }

  async #checkRepeated(transaction: Transaction): Promise<void> {
    if (!this.#after.definition.unique || this.#before.definition.unique) return;
    const { column } = this.#before;
    await refuseRepeated(this.#context, transaction, this.#collection, this.#after, column!);
  }

  #place(): { table: string; column: string } {
    return { table: this.#collection.table, column: this.#before.column! };
  }

  #addColumn(transaction: Transaction): Promise<void> {
    const { database, registry } = this.#context;
    const column = columnDefinition(this.#after, registry);
    return runAll(this.#context, transaction, database.dialect.addColumn(this.#collection.table, column));
  }

  /** Unless the change was kept, and only its end went wrong: then the values lie there. */
  async #dropColumn(transaction: Transaction, drop: Sql): Promise<void> {
    const { database, registry } = this.#context;
    const { name, table } = this.#collection;
    const lock = database.dialect.lockTables([table], false);
    // First, so that a commit under way is seen.
    if (lock) await runAll(this.#context, transaction, [lock]);
    const stored = await readUncommitted(database, transaction, registry.version);
    const now = changedRegistry(registry, registry.version + 1, stored);
    if (now.find(name)?.fields.some(({ column }) => column === this.#after.column)) return;
    await runAll(this.#context, transaction, [drop]);
  }

  async #convert(transaction: Transaction): Promise<void> {
    const { database, registry } = this.#context;
    const { dialect } = database;
    const { table } = this.#collection;
    if (!this.#columnIsThere) await this.#addColumn(transaction);
    await convertValues(this.#context, transaction, this.#collection, this.#before, this.#after);
    const grown = this.#changedCollection();
    const columns = columnsOf(grown).map((each) => columnDefinition(each, registry));
    await runAll(
      this.#context,
      transaction,
      dialect.dropColumns(table, [this.#before.column!], columns, indexesOf(grown)),
    );
    if (!dialect.shared) return; // built anew, with its indexes
    const over = indexesOf(grown).filter((index) => index.columns.includes(this.#after.column!));
    await runAll(
      this.#context,
      transaction,
      over.map((index) => dialect.createIndex(table, index)),
    );
  }

  #changedCollection(): Collection {
    const fields = this.#collection.fields.map((each) => (each === this.#before ? this.#after : each));
    return makeCollection({ ...this.#collection, fields, options: this.#renamedOptions() });
  }

  #renamedOptions(): Collection['options'] {
    const { options } = this.#collection;
    const rename = (name: string): string => (name === this.#before.name ? this.#after.name : name);
    if (!options.indexes) return options;
    return { ...options, indexes: options.indexes.map((index) => ({ ...index, fields: index.fields.map(rename) })) };
  }
}

/** Whether values that held before may not hold now. */
function narrows(before: Field, after: Field): boolean {
  const bounds = ['maxLength', 'pattern', 'min', 'max', 'precision', 'scale', 'enum'] as const;
  return bounds.some((bound) => {
    const wanted = after.definition[bound];
    return wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(before.definition[bound]);
  });
}
