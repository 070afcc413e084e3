/**
 * Changes a field: its title, bounds, indexes, name or type. The change is refused if a stored value is not valid under
 * the new definition.
 */
import { randomBytes } from 'node:crypto';
import { readDefinitionsInTx, updateField } from '../database/catalogue.ts';
import { countNulls } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import type { Sql } from '../database/sql.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { findReferencesTo } from '../records/write/references.ts';
import { resolveFieldType } from '../schema/field-types.ts';
import { buildColumnName, buildNextRegistry, type FieldFacts } from '../schema/load-registry.ts';
import { fieldNameProblem } from '../schema/names.ts';
import {
  type Collection,
  type Field,
  listColumnFields,
  makeCollection,
  requireColumnField,
} from '../schema/registry.ts';
import { isSearchableType, renameInOptions } from '../schema/search-fields.ts';
import { appendDefinitionEvent, type ChangeScope, runDefinitionChange, runStatements } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { findDependentRelations } from './dependent-relations.ts';
import { requireChangeableField } from './drop-field.ts';
import { isSameProperty } from './field-differences.ts';
import { checkValues, convertColumn } from './field-values.ts';
import { findRelationsByForeignKey, resolveChangedReference } from './key-reference.ts';
import { mergeFieldDefinition } from './merge-field-definition.ts';
import { renameField } from './rename-field.ts';
import { rejectDuplicates, replaceIndexes } from './replace-indexes.ts';
import { planIndexes, toColumnDefinition } from './storage.ts';
import { toStoredFacts } from './stored-facts.ts';
import { rejectRequiredField, requireFreeName } from './system-fields.ts';

/** Properties that a field cannot change while it is the key of a relation. */
const keyProperties = new Set(['type', 'unique', 'index', 'dateOnly', 'multiple', 'precision', 'scale']);

/**
 * Changes a field of a collection.
 *
 * @param changes the properties to change, `newName` among them; the others keep their values.
 * @returns the name of the field after the change.
 * @throws ApiError 403 for a core field, 404 for an unknown one, 409 if values are not unique or a relation needs the field,
 * 422 with `details` for an invalid definition or values that do not fit it.
 */
export async function changeField(
  context: DefinitionContext,
  collectionName: string,
  name: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { collection, field } = requireChangeableField(context, collectionName, name);
  const { newName = name, ...properties } = changes;
  checkNewName(newName, name, collection);
  const definition = mergeFieldDefinition(field, properties, collection, context.registry);
  rejectRequiredField(collection, definition);
  rejectFileConversion(field, definition);
  rejectUnsearchable(collection, field, definition);
  rejectIfKeyOfRelation(context, collection, field, definition);
  const renamed = { ...definition, name: newName as string };
  const fieldChange = new FieldChange(context, collection, field, renamed);
  const fieldChanges = [...findKeyChanges(context, collection, field, renamed), fieldChange];
  const hasReferenceChange = fieldChanges.some((each) => each.hasReferenceChange);
  const tables = [...new Set(fieldChanges.flatMap((each) => each.tables))];
  const scope: ChangeScope = {
    subject: collectionName,
    tables,
    needsRebuild: fieldChange.hasConversion || hasReferenceChange,
    isReadable: !hasReferenceChange,
  };
  await fieldChange.withNewColumn(() =>
    runDefinitionChange(context, scope, async (transaction) => {
      for (const each of fieldChanges) await each.run(transaction);
    }),
  );
  return newName as string;
}

/**
 * "required" and "unique" always have the same value on a belongsTo and on its foreign key. If one of the fields changes,
 * these are the changes of the others.
 */
function findKeyChanges(
  context: DefinitionContext,
  collection: Collection,
  field: Field,
  definition: FieldDefinition,
): FieldChange[] {
  if (field.relation?.kind === 'belongsTo') {
    const { field: key } = requireChangeableField(context, collection.name, field.relation.sourceField);
    return findForeignKeyChanges({ context, collection, field, key }, definition);
  }
  const { required = false } = definition;
  return findRelationsByForeignKey(collection, field, context.registry)
    .filter((each) => each.collection === collection && each.field.definition.required !== undefined)
    .filter((other) => (other.field.definition.required ?? false) !== required)
    .map((other) => new FieldChange(context, collection, other.field, { ...other.field.definition, required }));
}

interface ForeignKeyOwner {
  readonly context: DefinitionContext;
  readonly collection: Collection;
  /** The belongsTo. */
  readonly field: Field;
  readonly key: Field;
}

/** The changes of the foreign key of a belongsTo that follow from the new definition of the relation. */
function findForeignKeyChanges(
  { context, collection, field, key }: ForeignKeyOwner,
  { required = false, unique = false }: FieldDefinition,
): FieldChange[] {
  const isChanged = (name: 'required' | 'unique', wanted: boolean): boolean =>
    (field.definition[name] ?? false) !== wanted;
  if (!isChanged('required', required) && !isChanged('unique', unique)) return [];
  const isDifferent = (name: 'required' | 'unique', wanted: boolean): boolean =>
    isChanged(name, wanted) && (key.definition[name] ?? false) !== wanted;
  const [changesRequired, changesUnique] = [
    isDifferent('required', required),
    isDifferent('unique', unique) && !key.primaryKey,
  ];
  if (!changesRequired && !changesUnique) return [];
  if (changesUnique && !unique) rejectIfUniqueNeeded(context, collection, field, key);
  const { index: _, unique: __, ...rest } = key.definition;
  // Foreign keys are indexed, by their unique index where they have one.
  const indexed = unique ? { ...rest, unique } : { ...rest, index: true };
  const after = { ...(changesUnique ? indexed : key.definition), ...(changesRequired && { required }) };
  return [new FieldChange(context, collection, key, after)];
}

/** @throws ApiError 409 if a hasOne, another unique belongsTo or a foreign key needs the unique values. */
function rejectIfUniqueNeeded({ registry }: DefinitionContext, collection: Collection, field: Field, key: Field): void {
  const uniqueRelations = findRelationsByForeignKey(collection, key, registry).filter(
    (each) => each.field !== field && (each.field.relation?.kind === 'hasOne' || each.field.definition.unique),
  );
  const referencing = findReferencesTo(collection, registry).filter(
    (each) => each.field.references?.field === key.name,
  );
  const users = [...uniqueRelations.map((each) => ({ child: each.collection, field: each.field })), ...referencing];
  if (users.length > 0)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `"${key.name}" of "${collection.name}" must stay unique, because ${users.map((each) => `${each.child.name}.${each.field.name}`).join(', ')} refers to it. Destroy that field first.`,
    );
}

function checkNewName(newName: unknown, name: string, collection: Collection): void {
  const problem = fieldNameProblem(newName);
  if (problem) throw invalidDefinition({ newName: problem });
  if (newName !== name) requireFreeName(collection, newName as string);
}

/**
 * Refuses conversions to and from files: only writes of records check which files a caller may use. @throws ApiError
 * 422
 */
function rejectFileConversion({ definition: before }: Field, after: FieldDefinition): void {
  if (before.type !== 'file' && after.type !== 'file') return;
  const problem = 'Values cannot be converted to or from files. Define another field.';
  if (before.type !== after.type) throw invalidDefinition({ type: problem });
  if ((before.multiple ?? false) !== (after.multiple ?? false)) throw invalidDefinition({ multiple: problem });
}

/** @throws ApiError 422 if the option `search` names the field, and the new type contains no text. */
function rejectUnsearchable({ options }: Collection, { name }: Field, after: FieldDefinition): void {
  if (!options.search?.includes(name) || isSearchableType(resolveFieldType(after))) return;
  throw invalidDefinition({
    type: `The option "search" of the collection names "${name}", and the new type contains no text. Remove it there first.`,
  });
}

function rejectIfKeyOfRelation(
  { registry }: DefinitionContext,
  collection: Collection,
  field: Field,
  definition: FieldDefinition,
): void {
  const before = field.definition as unknown as Record<string, unknown>;
  const after = definition as unknown as Record<string, unknown>;
  const changedProperty = [...keyProperties].find((key) => !isSameProperty(key, before[key], after[key]));
  if (changedProperty === undefined) return;
  const users = findDependentRelations(collection, field, registry);
  if (users.length > 0 || field.references)
    throw new ApiError(
      'DEPENDANTS_EXIST',
      `"${changedProperty}" of ${collection.name}.${field.name} cannot change, because the field is the key of ${users.join(', ') || 'a relation'}. Destroy that relation first.`,
    );
}

class FieldChange {
  readonly hasConversion: boolean;
  /** Whether `onDelete` of the foreign key changes. */
  readonly hasReferenceChange: boolean;
  readonly #context: DefinitionContext;
  readonly #collection: Collection;
  readonly #before: Field;
  readonly #after: Field;
  readonly #facts: FieldFacts;
  #hasColumn = false;

  constructor(context: DefinitionContext, collection: Collection, before: Field, definition: FieldDefinition) {
    this.#context = context;
    this.#collection = collection;
    this.#before = before;
    const type = resolveFieldType(definition);
    this.hasConversion = before.column !== null && type.storage !== before.type.storage;
    const references = resolveChangedReference(context.registry, collection, before, definition);
    this.hasReferenceChange = references !== before.references;
    const facts = { ...toStoredFacts(before), references };
    // During the change, the old column and those of concurrent changes exist at the same time.
    const suffix = randomBytes(3).toString('hex');
    this.#facts = this.hasConversion ? { ...facts, base: `v${context.version}${suffix}_${definition.name}` } : facts;
    const column = buildColumnName(this.#facts, before.id, collection.system);
    this.#after = { ...before, name: definition.name, definition, type, column, references };
  }

  /** The tables that the change locks: a constraint is changed in both of its tables. */
  get tables(): string[] {
    const { table } = this.#collection;
    const { references } = this.#after;
    if (!this.hasReferenceChange || references === null) return [table];
    return [...new Set([table, this.#context.registry.get(references.collection).table])];
  }

  /**
   * Runs the change. On PostgreSQL, the column for converted values is added before, in its own transaction: ALTER TABLE
   * in the same transaction would block readers during the conversion. If the change fails, the column is dropped. A
   * column that a crash leaves behind is unused.
   */
  async withNewColumn(change: () => Promise<void>): Promise<void> {
    const { database, tx, dryRun } = this.#context;
    if (!this.hasConversion || tx || dryRun) return change();
    const drop = database.dialect.dropNewColumn(this.#collection.table, requireColumnField(this.#after).column);
    if (!drop) return change();
    await database.write((transaction) => this.#addColumn(transaction));
    this.#hasColumn = true;
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
      await renameField(this.#context, transaction, this.#collection, {
        from: this.#before.name,
        to: this.#after.name,
      });
    transaction.touch(this.#collection.table);
    await appendDefinitionEvent(
      this.#context,
      transaction,
      'fields.updated',
      `${this.#collection.name}.${this.#before.name}`,
    );
  }

  async #store(transaction: Transaction): Promise<void> {
    const { dialect } = this.#context.database;
    const { table } = this.#collection;
    await this.#checkNulls(transaction);
    await this.#checkRepeated(transaction);
    if (this.hasConversion) return this.#convert(transaction);
    if (this.#after.definition.type !== this.#before.definition.type || isNarrowed(this.#before, this.#after))
      await checkValues(this.#context, transaction, this.#collection, this.#after);
    const changed = this.#changedCollection();
    if (this.hasReferenceChange) {
      const columns = listColumnFields(changed).map((each) => toColumnDefinition(each, this.#context.registry));
      const column = toColumnDefinition(this.#after, this.#context.registry);
      const reference = dialect.replaceReference(table, column, columns, planIndexes(changed));
      await runStatements(this.#context, transaction, reference);
    }
    // A rebuilt table already has its indexes.
    if (!this.hasReferenceChange || !dialect.rebuildsTables)
      await replaceIndexes(this.#context, transaction, this.#collection, changed);
  }

  async #checkNulls(transaction: Transaction): Promise<void> {
    const isNotNull = (field: Field): boolean =>
      Boolean(field.definition.required) || field.definition.allowNull === false;
    if (!isNotNull(this.#after) || isNotNull(this.#before)) return;
    const nullCount = await countNulls(this.#context.database, transaction, this.#oldColumn());
    if (nullCount > 0) {
      const property = this.#after.definition.required ? 'required' : 'allowNull';
      throw invalidDefinition({
        [property]: `${nullCount} ${nullCount === 1 ? 'record has' : 'records have'} no value in "${this.#before.name}". Give them values first.`,
      });
    }
  }

  async #checkRepeated(transaction: Transaction): Promise<void> {
    if (!this.#after.definition.unique || this.#before.definition.unique) return;
    // Values without an order, such as JSON, cannot be compared before they are converted: the new index finds duplicates.
    if (!this.#before.type.sortable) return;
    const { column } = requireColumnField(this.#before);
    await rejectDuplicates(this.#context, transaction, this.#collection, { ...this.#after, column });
  }

  #oldColumn(): { table: string; column: string } {
    return { table: this.#collection.table, column: requireColumnField(this.#before).column };
  }

  #addColumn(transaction: Transaction): Promise<void> {
    const { database, registry } = this.#context;
    const column = toColumnDefinition(this.#after, registry);
    return runStatements(this.#context, transaction, database.dialect.addColumn(this.#collection.table, column));
  }

  /** Drops the new column, unless the change was committed and only its confirmation failed. */
  async #dropColumn(transaction: Transaction, drop: Sql): Promise<void> {
    const { database, registry } = this.#context;
    const { name, table } = this.#collection;
    const lock = database.dialect.lockTables([table], false);
    // The lock waits for a concurrent commit, so that the next statement sees it.
    if (lock) await runStatements(this.#context, transaction, [lock]);
    const stored = await readDefinitionsInTx(database, transaction, registry.version);
    const now = buildNextRegistry(registry, registry.version + 1, stored);
    if (now.find(name)?.fields.some(({ column }) => column === this.#after.column)) return;
    await runStatements(this.#context, transaction, [drop]);
  }

  async #convert(transaction: Transaction): Promise<void> {
    const { database, registry } = this.#context;
    const { dialect } = database;
    const { table } = this.#collection;
    if (!this.#hasColumn) await this.#addColumn(transaction);
    await convertColumn(this.#context, transaction, this.#collection, { source: this.#before, target: this.#after });
    const nextCollection = this.#changedCollection();
    const columns = listColumnFields(nextCollection).map((each) => toColumnDefinition(each, registry));
    await runStatements(
      this.#context,
      transaction,
      dialect.dropColumns(table, [requireColumnField(this.#before).column], columns, planIndexes(nextCollection)),
    );
    if (dialect.rebuildsTables) return; // The new table has its indexes.
    const { column } = requireColumnField(this.#after);
    const indexes = planIndexes(nextCollection).filter((index) => index.columns.includes(column));
    await runStatements(
      this.#context,
      transaction,
      indexes.map((index) => dialect.createIndex(table, index)),
    );
  }

  #changedCollection(): Collection {
    const fields = this.#collection.fields.map((each) => (each === this.#before ? this.#after : each));
    return makeCollection({ ...this.#collection, fields, options: this.#renamedOptions() });
  }

  #renamedOptions(): Collection['options'] {
    const rename = (name: string): string => (name === this.#before.name ? this.#after.name : name);
    return renameInOptions(this.#collection.options, rename);
  }
}

/** Whether values that were valid before may be invalid now. */
function isNarrowed(before: Field, after: Field): boolean {
  const bounds = ['maxLength', 'pattern', 'min', 'max', 'precision', 'scale', 'enum'] as const;
  return bounds.some((bound) => {
    const wanted = after.definition[bound];
    return wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(before.definition[bound]);
  });
}
