import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type {
  CollectionDefinition,
  CollectionOptions,
  FieldDefinition,
  IndexDefinition,
} from '../protocol/definition.ts';
import { isObject } from '../protocol/json-text.ts';
import {
  checkOptionChange,
  checkOptions,
  isFlatOption,
  keptColumns,
  keptNames,
  readOptions,
  type Switches,
} from './collection-options-check.ts';
import { type Details, descriptionProblem, note, type Raw, titleProblem } from './definition-details.ts';
import { readField } from './field-definition-check.ts';
import { typeOf } from './field-types.ts';
import { collectionNameProblem } from './names.ts';
import type { Collection } from './registry.ts';

/**
 * Checks a collection's definition whole and completes it: the primary key is there, options have their defaults.
 *
 * @throws ApiError `DEFINITION_INVALID` with every problem under its path, such as `fields[1].maxLength`.
 */
export function checkCollection(
  input: unknown,
  maximumFields: number,
  there: Collection | null = null,
): CollectionDefinition {
  if (!isObject(input)) throw invalidDefinition({ body: 'Give a collection: {"name", "title", "fields", "options"}.' });
  const details: Details = {};
  if (!there) note(details, 'name', collectionNameProblem(input['name']));
  checkWords(input, details);
  for (const key of Object.keys(input)) {
    if (!['name', 'title', 'description', 'fields', 'options'].includes(key) && !isFlatOption(key))
      note(details, key, 'There is no such property.');
  }
  const options = checkOptions(readOptions(input, details), there, details);
  const fields = checkFields(input['fields'] ?? [], details);
  const own = withPrimaryKey(fields, details);
  checkTogether(own, options, maximumFields, there, details);
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return {
    name: input['name'] as string,
    ...(input['title'] != null && { title: input['title'] as string }),
    ...(input['description'] != null && { description: input['description'] as string }),
    fields: own,
    options,
  };
}

function checkWords(input: Raw, details: Details): void {
  const { title, description } = input;
  if (title != null) note(details, 'title', titleProblem(title));
  if (description != null) note(details, 'description', descriptionProblem(description));
}

/** A checked definition with the names of the options that it gives. */
export interface WantedCollection {
  readonly definition: CollectionDefinition;
  readonly options: ReadonlySet<string>;
}

/**
 * Checks a set of definitions whole.
 *
 * @param present the collection of a name that is there already: what a definition leaves out of it stays.
 * @throws ApiError `DEFINITION_INVALID` with every problem of every one, such as `[2].fields[1].type`.
 */
export function checkCollections(
  input: unknown,
  maximumFields: number,
  present: (name: string) => Collection | null,
): WantedCollection[] {
  if (!Array.isArray(input))
    throw invalidDefinition({ body: 'Give a list of collections: [{"name", "fields", …}, …].' });
  const details: Details = {};
  const wanted = input.flatMap((each: unknown, index) => {
    try {
      const there = isObject(each) && typeof each['name'] === 'string' ? present(each['name']) : null;
      const definition = checkCollection(each, maximumFields, there);
      return [{ definition, options: new Set(Object.keys(readOptions(each as Raw, {}).values)) }];
    } catch (error) {
      if (error instanceof ApiError && error.code === 'BODY_INVALID')
        throw new ApiError('BODY_INVALID', `[${index}]: ${error.message}`);
      if (!(error instanceof ApiError) || error.code !== 'DEFINITION_INVALID') throw error;
      for (const [path, text] of Object.entries(error.details ?? {})) details[`[${index}].${path}`] = text;
      return [];
    }
  });
  const names = new Set<string>();
  wanted.forEach(({ definition: { name } }, index) => {
    if (names.has(name)) note(details, `[${index}].name`, `The name "${name}" stands twice.`);
    names.add(name);
  });
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return wanted;
}

/** What `collections:update` may change; undefined: left as it is. */
export interface CollectionChange {
  readonly title: string | null | undefined;
  readonly description: string | null | undefined;
  readonly indexes: readonly IndexDefinition[] | undefined;
  readonly switches: Switches;
}

/** @throws ApiError `DEFINITION_INVALID` for what does not hold, 400 for an option that contradicts itself. */
export function checkCollectionChange(input: unknown, collection: Collection): CollectionChange {
  if (!isObject(input))
    throw invalidDefinition({ body: 'Give what is to change: {"title", "description", "options"}.' });
  const details: Details = {};
  checkWords(input, details);
  for (const [key, value] of Object.entries(input)) {
    if (['title', 'description', 'options'].includes(key) || isFlatOption(key)) continue;
    if (key === 'name' && value === collection.name) continue;
    if (key === 'fields') note(details, key, 'Fields are changed by fields:create, fields:update and fields:destroy.');
    else note(details, key, 'This cannot be changed.');
  }
  const { switches, indexes } = checkOptionChange(readOptions(input, details), details);
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return {
    title: input['title'] as string | null | undefined,
    description: input['description'] as string | null | undefined,
    indexes,
    switches,
  };
}

function checkFields(input: unknown, details: Details): FieldDefinition[] {
  if (!Array.isArray(input)) {
    note(details, 'fields', 'Give a list of field definitions.');
    return [];
  }
  // What a definition shows of the fields that the server keeps is passed over, so that it can be sent back whole.
  return input
    .map((raw, index) => (isShownKept(raw) ? null : readField(raw, `fields[${index}].`, details)))
    .filter((field) => field !== null);
}

function isShownKept(raw: unknown): boolean {
  return isObject(raw) && raw['readOnly'] === true && everKept.has(raw['name'] as string);
}

const everKept = new Set(keptNames({ timestamps: true, authors: true, paranoid: true, logging: false }));

/** The primary key of a definition that gives none. */
const addedKey: FieldDefinition = { name: 'id', type: 'integer', primaryKey: true, autoIncrement: true };

/** Whether a field was not given but added as the key. */
export function isAddedKey(field: FieldDefinition): boolean {
  return field === addedKey;
}

function withPrimaryKey(fields: FieldDefinition[], details: Details): FieldDefinition[] {
  const keys = fields.filter((field) => field.primaryKey);
  if (keys.length > 1)
    note(details, 'fields', `Only one field may be the primary key, not ${keys.map((key) => key.name).join(', ')}.`);
  if (keys.length > 0) return fields;
  if (fields.some((field) => field.name === 'id')) {
    note(
      details,
      'fields',
      'The field "id" is there but is not the primary key; set primaryKey on it or leave it out.',
    );
  }
  return [addedKey, ...fields];
}

function checkTogether(
  fields: FieldDefinition[],
  options: CollectionOptions,
  maximum: number,
  there: Collection | null,
  details: Details,
): void {
  const seen = new Set<string>(keptNames(options));
  const kept = new Set<string>(keptColumns(options));
  for (const field of fields) {
    if (seen.has(field.name)) note(details, 'fields', `The name "${field.name}" stands twice.`);
    seen.add(field.name);
  }
  for (const [index, field] of fields.entries()) {
    const scope = field.type === 'sort' ? field.scopeKey : undefined;
    if (scope === undefined) continue;
    const found = fields.find((each) => each.name === scope);
    const fits = found
      ? typeOf(found).sortable && found.type !== 'sort'
      : isForeignKey(fields, scope) || kept.has(scope) || there?.byName.has(scope);
    if (!fits)
      note(
        details,
        `fields[${isAddedKey(fields[0]!) ? index - 1 : index}].scopeKey`,
        `"${scope}" is no field by which places are told apart.`,
      );
  }
  if (fields.length > maximum) note(details, 'fields', `A collection has at most ${maximum} fields.`);
  if (details['options.indexes'] || !Array.isArray(options.indexes)) return;
  for (const index of options.indexes as IndexDefinition[]) {
    const plain = (each: string): boolean => {
      const found = fields.find((field) => field.name === each);
      if (found) return typeOf(found).sortable;
      return kept.has(each) || isForeignKey(fields, each) || (there?.byName.get(each)?.type.sortable ?? false);
    };
    const bad = index.fields.find((each) => !plain(each));
    if (bad !== undefined)
      note(
        details,
        'options.indexes',
        `"${bad.slice(0, 60)}" cannot be indexed: name a field of the collection whose type can have an index.`,
      );
  }
}

function isForeignKey(fields: readonly FieldDefinition[], name: string): boolean {
  return fields.some((field) => field.type === 'belongsTo' && (field.foreignKey ?? `${field.name}Id`) === name);
}
