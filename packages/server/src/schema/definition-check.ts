import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type {
  CollectionDefinition,
  CollectionOptions,
  FieldDefinition,
  IndexDefinition,
} from '../protocol/definition.ts';
import { prefixDetails } from '../protocol/error-path.ts';
import { isObject } from '../protocol/json-text.ts';
import {
  checkOptionChange,
  checkOptions,
  isFlatOption,
  listIndexableManagedFields,
  listServerManagedFields,
  readOptions,
  type Switches,
} from './collection-options-check.ts';
import { addDetail, type Details, descriptionProblem, type Raw, titleProblem } from './definition-details.ts';
import { readField } from './field-definition-check.ts';
import { resolveFieldType } from './field-types.ts';
import { collectionNameProblem } from './names.ts';
import type { Collection } from './registry.ts';
import { describeUnsearchable, isSearchableField, isSearchableType } from './search-fields.ts';

/**
 * Checks the whole definition of a collection and completes it with a primary key and the defaults of options.
 *
 * @throws ApiError `DEFINITION_INVALID` with each problem under its path, such as `fields[1].maxLength`.
 */
export function checkCollection(
  input: unknown,
  maxFields: number,
  existing: Collection | null = null,
): CollectionDefinition {
  if (!isObject(input)) throw invalidDefinition({ body: 'Give a collection: {"name", "title", "fields", "options"}.' });
  const details: Details = {};
  if (!existing) addDetail(details, 'name', collectionNameProblem(input['name']));
  checkTexts(input, details);
  for (const key of Object.keys(input)) {
    if (!['name', 'title', 'description', 'fields', 'options'].includes(key) && !isFlatOption(key))
      addDetail(details, key, `A collection has no property "${key.slice(0, 60)}".`);
  }
  const options = checkOptions(readOptions(input, details), existing, details);
  const fields = checkFields(input['fields'] ?? [], details);
  const allFields = withPrimaryKey(fields, details);
  checkConsistency(allFields, options, existing, details);
  if (allFields.length > maxFields)
    addDetail(details, 'fields', `A collection can have at most ${maxFields} fields. Remove some of them.`);
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return {
    name: input['name'] as string,
    ...(input['title'] != null && { title: input['title'] as string }),
    ...(input['description'] != null && { description: input['description'] as string }),
    fields: allFields,
    options,
  };
}

function checkTexts(input: Raw, details: Details): void {
  const { title, description } = input;
  if (title != null) addDetail(details, 'title', titleProblem(title));
  if (description != null) addDetail(details, 'description', descriptionProblem(description));
}

/** A checked definition, and the names of the options that it specifies. */
export interface RequestedCollection {
  readonly definition: CollectionDefinition;
  readonly options: ReadonlySet<string>;
}

/**
 * Checks a whole set of definitions.
 *
 * @param findExisting finds an existing collection by its name; what a definition omits does not change.
 * @throws ApiError `DEFINITION_INVALID` with all problems of all definitions, such as `[2].fields[1].type`.
 */
export function checkCollections(
  input: unknown,
  maxFields: number,
  findExisting: (name: string) => Collection | null,
): RequestedCollection[] {
  if (!Array.isArray(input))
    throw invalidDefinition({ body: 'Give a list of collections: [{"name", "fields", …}, …].' });
  const details: Details = {};
  const wanted = input.flatMap((each: unknown, index) => {
    try {
      const existing = isObject(each) && typeof each['name'] === 'string' ? findExisting(each['name']) : null;
      const definition = checkCollection(each, maxFields, existing);
      return [{ definition, options: new Set(Object.keys(readOptions(each as Raw, {}).values)) }];
    } catch (error) {
      if (error instanceof ApiError && error.code === 'BODY_INVALID')
        throw new ApiError('BODY_INVALID', `[${index}]: ${error.message}`);
      if (!(error instanceof ApiError) || error.code !== 'DEFINITION_INVALID') throw error;
      Object.assign(details, prefixDetails(`[${index}]`, error.details));
      return [];
    }
  });
  const names = new Set<string>();
  wanted.forEach(({ definition: { name } }, index) => {
    if (names.has(name))
      addDetail(details, `[${index}].name`, `Two collections are named "${name}". Rename one of them.`);
    names.add(name);
  });
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return wanted;
}

/** What `collections:update` can change; undefined: unchanged. */
export interface CollectionChange {
  readonly title: string | null | undefined;
  readonly description: string | null | undefined;
  readonly indexes: readonly IndexDefinition[] | undefined;
  /** Fields that have a search index. */
  readonly search: readonly string[] | undefined;
  readonly switches: Switches;
}

/** @throws ApiError `DEFINITION_INVALID` for invalid values, 400 for contradicting options. */
export function checkCollectionChange(input: unknown, collection: Collection): CollectionChange {
  if (!isObject(input))
    throw invalidDefinition({
      body: 'Give an object with the properties to change: {"title", "description", "options"}.',
    });
  const details: Details = {};
  checkTexts(input, details);
  for (const [key, value] of Object.entries(input)) {
    if (['title', 'description', 'options'].includes(key) || isFlatOption(key)) continue;
    if (key === 'name' && value === collection.name) continue;
    if (key === 'fields')
      addDetail(details, key, 'Fields cannot be changed here. Use fields:create, fields:update or fields:destroy.');
    else addDetail(details, key, `"${key.slice(0, 60)}" cannot be changed.`);
  }
  const { switches, indexes, search } = checkOptionChange(readOptions(input, details), details);
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return {
    title: input['title'] as string | null | undefined,
    description: input['description'] as string | null | undefined,
    indexes,
    search,
    switches,
  };
}

function checkFields(input: unknown, details: Details): FieldDefinition[] {
  if (!Array.isArray(input)) {
    addDetail(details, 'fields', '"fields" must be a list of field definitions.');
    return [];
  }
  // Server-managed fields are ignored, so that a definition can be sent back as it was received.
  return input
    .map((raw, index) => (isServerManagedField(raw) ? null : readField(raw, `fields[${index}].`, details)))
    .filter((field) => field !== null);
}

function isServerManagedField(raw: unknown): boolean {
  return isObject(raw) && raw['readOnly'] === true && allServerManagedFields.has(raw['name'] as string);
}

const allServerManagedFields = new Set(
  listServerManagedFields({ timestamps: true, authors: true, paranoid: true, logging: false }),
);

/** The primary key of a definition that does not specify one. */
const defaultKey: FieldDefinition = { name: 'id', type: 'integer', primaryKey: true, autoIncrement: true };

/** Whether a field is the primary key that the server adds. */
export function isDefaultKey(field: FieldDefinition): boolean {
  return field === defaultKey;
}

function withPrimaryKey(fields: FieldDefinition[], details: Details): FieldDefinition[] {
  const keys = fields.filter((field) => field.primaryKey);
  if (keys.length > 1)
    addDetail(
      details,
      'fields',
      `Only one field can be the primary key, but these are: ${keys.map((key) => key.name).join(', ')}.`,
    );
  if (keys.length > 0) return fields;
  if (fields.some((field) => field.name === 'id'))
    addDetail(
      details,
      'fields',
      'The field "id" exists but is not the primary key. Give it "primaryKey": true, or leave it out.',
    );
  return [defaultKey, ...fields];
}

function checkConsistency(
  fields: FieldDefinition[],
  options: CollectionOptions,
  existing: Collection | null,
  details: Details,
): void {
  const names = new Set<string>(listServerManagedFields(options));
  const managedColumns = new Set<string>(listIndexableManagedFields(options));
  for (const field of fields) {
    if (names.has(field.name))
      addDetail(details, 'fields', `Two fields are named "${field.name}". Rename one of them.`);
    names.add(field.name);
  }
  for (const [index, field] of fields.entries()) {
    const scope = field.type === 'sort' ? field.scopeKey : undefined;
    if (scope === undefined) continue;
    const found = fields.find((each) => each.name === scope);
    const isValidScope = found
      ? resolveFieldType(found).sortable && found.type !== 'sort'
      : isForeignKey(fields, scope) || managedColumns.has(scope) || existing?.byName.has(scope);
    if (!isValidScope)
      addDetail(
        details,
        `fields[${isDefaultKey(fields[0]!) ? index - 1 : index}].scopeKey`,
        `"${scope}" cannot be the scope of a sort field. Name a field of the collection that has a column and can be sorted.`,
      );
  }
  checkSearchOption(fields, options, existing, details);
  if (details['options.indexes'] || !Array.isArray(options.indexes)) return;
  for (const index of options.indexes as IndexDefinition[]) {
    const isIndexable = (each: string): boolean => {
      const found = fields.find((field) => field.name === each);
      if (found) return resolveFieldType(found).sortable;
      return (
        managedColumns.has(each) || isForeignKey(fields, each) || (existing?.byName.get(each)?.type.sortable ?? false)
      );
    };
    const invalidField = index.fields.find((each) => !isIndexable(each));
    if (invalidField !== undefined)
      addDetail(
        details,
        'options.indexes',
        `"${invalidField.slice(0, 60)}" cannot be indexed: name a field of the collection whose type can have an index.`,
      );
  }
}

/** Only text can have a search index. */
function checkSearchOption(
  fields: readonly FieldDefinition[],
  { search }: CollectionOptions,
  existing: Collection | null,
  details: Details,
): void {
  if (details['options.search'] || details['search'] || !Array.isArray(search)) return;
  const isSearchable = (name: string): boolean => {
    const found = fields.find((field) => field.name === name);
    if (found) return isSearchableType(resolveFieldType(found));
    const present = existing?.byName.get(name);
    return present !== undefined && isSearchableField(present);
  };
  const unsearchable = (search as readonly string[]).find((name) => !isSearchable(name));
  if (unsearchable !== undefined) addDetail(details, 'options.search', describeUnsearchable(unsearchable));
}

function isForeignKey(fields: readonly FieldDefinition[], name: string): boolean {
  return fields.some((field) => field.type === 'belongsTo' && (field.foreignKey ?? `${field.name}Id`) === name);
}
