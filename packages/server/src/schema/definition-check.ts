import { isWellFormedJson, jsonDepth } from '../base/well-formed.ts';
import { ApiError, type ErrorDetails, invalidDefinition } from '../protocol/api-error.ts';
import type {
  CollectionDefinition,
  CollectionOptions,
  FieldDefinition,
  IndexDefinition,
} from '../protocol/definition.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { type FieldType, optionChecks } from './field-type.ts';
import { fieldTypes, typeOf } from './field-types.ts';
import { collectionNameProblem, fieldNameProblem } from './names.ts';
import type { Collection } from './registry.ts';
import { problemOfValue } from './value-schema.ts';

type Raw = Readonly<Record<string, unknown>>;
type Check = (value: unknown, definition: FieldDefinition) => string | null;
type Details = Record<string, string>;

const { text, truth } = optionChecks;
const name: Check = (value) => (typeof value === 'string' && value !== '' ? null : 'Give a name.');
const commonOptions: Readonly<Record<string, Check>> = {
  name,
  type: text,
  title: text,
  description: text,
  uiSchema: plainObject,
};
const columnOptions: Readonly<Record<string, Check>> = {
  required: truth,
  unique: truth,
  index: truth,
  allowNull: truth,
  defaultValue: () => null,
  primaryKey: truth,
  autoIncrement: truth,
};
const onDelete: Check = (value) =>
  value === 'setNull' || value === 'cascade' || value === 'restrict' ? null : 'Give setNull, cascade or restrict.';
const relationOptions: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  belongsTo: { target: name, foreignKey: fieldNameProblem, targetKey: name, onDelete, required: truth, index: truth },
  hasMany: { target: name, foreignKey: fieldNameProblem, sourceKey: name, onDelete },
  hasOne: { target: name, foreignKey: fieldNameProblem, sourceKey: name, onDelete },
  belongsToMany: {
    target: name,
    through: collectionNameProblem,
    foreignKey: fieldNameProblem,
    otherKey: fieldNameProblem,
    sourceKey: name,
    targetKey: name,
  },
};

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
  for (const key of ['title', 'description'])
    if (input[key] != null) note(details, key, text(input[key]) ?? wellFormed(input[key]));
  for (const key of Object.keys(input)) {
    if (!['name', 'title', 'description', 'fields', 'options'].includes(key))
      note(details, key, 'There is no such property.');
  }
  const options = checkOptions(input['options'], details);
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
      const { options } = each as { options?: object | null };
      return [{ definition, options: new Set(Object.keys(options ?? {})) }];
    } catch (error) {
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
}

/** @throws ApiError `DEFINITION_INVALID` for what does not hold, and for what would need the storage rewritten. */
export function checkCollectionChange(input: unknown, collection: Collection): CollectionChange {
  if (!isObject(input))
    throw invalidDefinition({ body: 'Give what is to change: {"title", "description", "options"}.' });
  const details: Details = {};
  for (const [key, value] of Object.entries(input)) {
    if (key === 'title' || key === 'description') {
      if (value !== null) note(details, key, text(value) ?? wellFormed(value));
    } else if (key === 'name' && value === collection.name) continue;
    else if (key === 'fields')
      note(details, key, 'Fields are changed by fields:create, fields:update and fields:destroy.');
    else if (key !== 'options') note(details, key, 'This cannot be changed.');
  }
  const options = input['options'] ?? {};
  if (!isObject(options)) note(details, 'options', 'Give an object such as {"indexes": []}.');
  else checkOptionChange(options, collection, details);
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return {
    title: input['title'] as string | null | undefined,
    description: input['description'] as string | null | undefined,
    indexes: (options as { indexes?: IndexDefinition[] }).indexes,
  };
}

function checkOptionChange(options: Raw, collection: Collection, details: Details): void {
  for (const [key, value] of Object.entries(options)) {
    if (key === 'indexes') {
      const problem = indexesProblem(value);
      const names = problem === null ? (value as IndexDefinition[]).flatMap((index) => index.fields) : [];
      const bad = names.find((each) => !collection.byName.get(each)?.type.sortable);
      note(
        details,
        'options.indexes',
        problem ?? (bad === undefined ? null : `"${bad.slice(0, 60)}" is no field that can be indexed.`),
      );
    } else if ((collection.options as unknown as Raw)[key] !== value)
      note(details, `options.${key}`, 'This option is set when the collection is created.');
  }
}

/**
 * Checks one field's definition, options nested or flat.
 *
 * @throws ApiError `DEFINITION_INVALID` with a detail for each property that does not hold.
 */
export function checkField(input: unknown): FieldDefinition {
  const details: Details = {};
  const definition = readField(input, '', details);
  if (definition?.primaryKey) note(details, 'primaryKey', 'A primary key is given when the collection is created.');
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return definition!;
}

function checkOptions(input: unknown, details: Details): CollectionOptions {
  const options = { timestamps: true, paranoid: false, logging: false, authors: false };
  if (input === undefined || input === null) return options;
  if (!isObject(input)) {
    note(details, 'options', 'Give an object such as {"timestamps": true}.');
    return options;
  }
  for (const [key, value] of Object.entries(input)) {
    if (key === 'indexes') note(details, 'options.indexes', indexesProblem(value));
    else if (key in options) note(details, `options.${key}`, truth(value));
    else note(details, `options.${key}`, 'There is no such option.');
  }
  return { ...options, ...(input as Partial<CollectionOptions>) };
}

function indexesProblem(value: unknown): string | null {
  const holds =
    Array.isArray(value) &&
    value.every(
      (index: unknown) =>
        isObject(index) &&
        Array.isArray(index['fields']) &&
        index['fields'].length > 0 &&
        index['fields'].length <= 10 &&
        index['fields'].every((each) => typeof each === 'string') &&
        (index['unique'] === undefined || typeof index['unique'] === 'boolean') &&
        Object.keys(index).every((key) => key === 'fields' || key === 'unique'),
    );
  return holds ? null : 'Give a list such as [{"fields": ["createdAt"], "unique": false}].';
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

function readField(raw: unknown, at: string, details: Details): FieldDefinition | null {
  if (!isObject(raw)) {
    note(details, at === '' ? 'body' : at.slice(0, -1), 'Give a field: {"name", "type", …}.');
    return null;
  }
  const input = flattened(raw);
  const nameProblem = fieldNameProblem(input['name']);
  note(details, `${at}name`, nameProblem);
  const base = typeof input['type'] === 'string' ? fieldTypes.get(input['type']) : undefined;
  if (!base) {
    note(details, `${at}type`, `Give one of ${[...fieldTypes.keys()].join(', ')}.`);
    return null;
  }
  const definition = input as unknown as FieldDefinition;
  checkProperties(input, base, at, details);
  if (!base.relation) checkColumn(definition, typeOf(definition), at, details);
  return nameProblem ? null : definition;
}

function flattened(raw: Raw): Raw {
  const { options, ...rest } = raw;
  const all = isObject(options) ? { ...options, ...rest } : raw;
  return Object.fromEntries(Object.entries(all).filter(([key, value]) => value !== null || key === 'defaultValue'));
}

function checkProperties(input: Raw, type: FieldType, at: string, details: Details): void {
  const allowed: Readonly<Record<string, Check>> = {
    ...commonOptions,
    ...(type.relation ? relationOptions[type.name] : { ...columnOptions, ...type.options }),
  };
  for (const [key, value] of Object.entries(input)) {
    if (key === 'name' || key === 'type') continue;
    const check = Object.hasOwn(allowed, key) ? allowed[key] : undefined;
    const problem = check
      ? check(value, input as unknown as FieldDefinition)
      : `A ${type.name} field has no such property.`;
    note(details, `${at}${key}`, problem ?? wellFormed(value));
  }
  if (type.relation && input['target'] === undefined) note(details, `${at}target`, 'Name the target collection.');
  if (type.name === 'select' && input['enum'] === undefined) note(details, `${at}enum`, 'List the choices.');
  if (type.secret && input['defaultValue'] != null) note(details, `${at}defaultValue`, 'A password has no default.');
}

function checkColumn(definition: FieldDefinition, type: FieldType, at: string, details: Details): void {
  const { primaryKey, autoIncrement, unique, index, defaultValue, min, max } = definition;
  if (primaryKey && !['integer', 'bigInt', 'string', 'uid'].includes(type.name)) {
    note(details, `${at}primaryKey`, 'A primary key is an integer, bigInt, string or uid field.');
  }
  if (autoIncrement && !(primaryKey && (type.name === 'integer' || type.name === 'bigInt'))) {
    note(details, `${at}autoIncrement`, 'Only an integer or bigInt primary key counts up by itself.');
  }
  if ((unique || index) && !type.sortable)
    note(details, `${at}${unique ? 'unique' : 'index'}`, `A ${type.name} field takes no index.`);
  if (typeof min === 'number' && typeof max === 'number' && min > max)
    note(details, `${at}min`, 'min is greater than max.');
  if (defaultValue === undefined || Object.keys(details).some((key) => key.startsWith(at))) return;
  if (defaultValue === null) {
    if (definition.required || definition.allowNull === false)
      note(details, `${at}defaultValue`, 'This field may not be null.');
    return;
  }
  note(details, `${at}defaultValue`, problemOfValue(type, definition, defaultValue));
}

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
      : isForeignKey(fields, scope) || there?.byName.has(scope);
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
      return seen.has(each) || isForeignKey(fields, each) || (there?.byName.get(each)?.type.sortable ?? false);
    };
    const bad = index.fields.find((each) => !plain(each));
    if (bad !== undefined) note(details, 'options.indexes', `"${bad.slice(0, 60)}" is no field that can be indexed.`);
  }
}

/** Fields that the server keeps under these options, in their order. */
export function keptNames({ timestamps, authors, paranoid }: CollectionOptions): string[] {
  return [
    ...(timestamps ? ['createdAt', 'updatedAt'] : []),
    ...(authors ? ['createdById', 'createdBy', 'updatedById', 'updatedBy'] : []),
    ...(paranoid ? ['deletedAt', 'deletedWith'] : []),
  ];
}

function isForeignKey(fields: readonly FieldDefinition[], name: string): boolean {
  return fields.some((field) => field.type === 'belongsTo' && (field.foreignKey ?? `${field.name}Id`) === name);
}

function plainObject(value: unknown): string | null {
  return isObject(value) ? null : 'Give an object.';
}

function wellFormed(value: unknown): string | null {
  if (jsonDepth(value, limits.jsonDepth + 1) > limits.jsonDepth) return `Nest at most ${limits.jsonDepth} deep.`;
  return isWellFormedJson(value) ? null : 'The text holds U+0000 or half a surrogate pair.';
}

function note(details: Details, key: string, problem: string | null): void {
  if (problem !== null) details[key] ??= problem;
}

export type { ErrorDetails };
