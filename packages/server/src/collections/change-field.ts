/**
 * Changes a field: its words, its bounds, its indexes, its name, its type. Data that does not hold under the new
 * definition refuses the change, so that afterwards every record holds.
 */
import { randomBytes } from 'node:crypto';
import { readUncommitted, updateField } from '../database/catalogue.ts';
import { countNulls, countRepeated } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import type { Sql } from '../database/sql.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { checkField } from '../schema/field-definition-check.ts';
import { typeOf } from '../schema/field-types.ts';
import { changedRegistry, columnNameOf, type FieldFacts } from '../schema/load-registry.ts';
import { fieldNameProblem } from '../schema/names.ts';
import { type Collection, columnsOf, type Field, makeCollection } from '../schema/registry.ts';
import { changing, logged, runAll } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { changeable } from './drop-field.ts';
import { checkValues, convertValues } from './field-values.ts';
import { relationsOn } from './relation-needs.ts';
import { renameField } from './rename-field.ts';
import { columnDefinition, indexesOf, indexOfField } from './storage.ts';
import { storedFacts } from './stored-facts.ts';
import { refuseUngiven, requireFreeName } from './system-fields.ts';

/** Properties by which a field is only described. */
const words = new Set(['title', 'description', 'uiSchema']);
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
  const definition = changed(field, properties);
  refuseUngiven(collection, definition);
  if (typeOf(definition).relation !== field.type.relation)
    throw invalidDefinition({ type: 'A field with values does not become a relation; make the relation beside it.' });
  refuseWhatRelationsNeed(context, collection, field, definition);
  const renamed = { ...definition, name: newName as string };
  const work = new FieldChange(context, collection, field, renamed);
  const scope = { subject: collectionName, tables: [collection.table], rebuild: work.converts, readable: true };
  await work.withColumn(() => changing(context, scope, (transaction) => work.run(transaction)));
  return newName as string;
}

function checkNewName(newName: unknown, name: string, collection: Collection): void {
  const problem = fieldNameProblem(newName);
  if (problem) throw invalidDefinition({ newName: problem });
  if (newName !== name) requireFreeName(collection, newName as string);
}

/** The definition with its changes, checked whole; null takes a property away. */
function changed(field: Field, changes: Readonly<Record<string, unknown>>): FieldDefinition {
  const { options, ...flat } = changes;
  const all: Record<string, unknown> = { ...(options as object | undefined), ...flat };
  const before = field.definition as unknown as Record<string, unknown>;
  const moved = Object.keys(all).find((key) => !words.has(key) && !sameValue(all[key], before[key]));
  if (moved !== undefined && (field.relation || field.primaryKey)) {
    const what = field.relation ? 'relation' : 'primary key';
    throw invalidDefinition({
      [moved]: `Of a ${what} only name, title, description and uiSchema change; make it anew.`,
    });
  }
  const merged = Object.fromEntries(
    Object.entries({ ...kept(field, all), ...all }).filter(([key, value]) => value !== null || key === 'defaultValue'),
  );
  if (!field.primaryKey) return checkField(merged);
  const { primaryKey, autoIncrement, ...rest } = merged;
  return { ...checkField(rest), ...(primaryKey !== undefined && { primaryKey, autoIncrement }) } as FieldDefinition;
}

function sameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** What of the old definition still has a meaning: another type has other options. */
function kept(field: Field, changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { definition } = field;
  if (changes['type'] === undefined || changes['type'] === definition.type) return { ...definition };
  const common = new Set(['name', 'title', 'description', 'uiSchema', 'required', 'unique', 'index', 'allowNull']);
  return Object.fromEntries(Object.entries(definition).filter(([key]) => common.has(key)));
}

function refuseWhatRelationsNeed(
  { registry }: DefinitionContext,
  collection: Collection,
  field: Field,
  definition: FieldDefinition,
): void {
  const before = field.definition as unknown as Record<string, unknown>;
  const after = definition as unknown as Record<string, unknown>;
  const moved = [...fixedForKeys].find((key) => (before[key] ?? null) !== (after[key] ?? null));
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
    const facts = storedFacts(before);
    // The new column stands beside the old one for a while, and beside one that a parallel change makes.
    const mark = randomBytes(3).toString('hex');
    this.#facts = this.converts ? { ...facts, base: `v${context.version}${mark}_${definition.name}` } : facts;
    const column = columnNameOf(this.#facts, before.id, collection.system);
    this.#after = { ...before, name: definition.name, definition, type, column };
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
    const before = indexOfField(this.#collection, this.#before);
    const after = indexOfField(this.#collection, this.#after);
    if (before?.name === after?.name) return;
    if (before) await runAll(this.#context, transaction, [dialect.dropIndex(before.name)]);
    if (after) await runAll(this.#context, transaction, [dialect.createIndex(table, after)]);
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
    const repeated = await countRepeated(
      this.#context.database,
      transaction,
      this.#place(),
      indexOfField(this.#collection, this.#after)?.where ?? null,
    );
    if (repeated > 0)
      throw new ApiError(
        'UNIQUE_CONFLICT',
        `${repeated} values of "${this.#before.name}" stand in more than one record; a unique field needs distinct ones.`,
      );
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
    const fields = this.#collection.fields.map((each) => (each === this.#before ? this.#after : each));
    const grown = makeCollection({ ...this.#collection, fields, options: this.#renamedOptions() });
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
