import { invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { isObject } from '../protocol/json-text.ts';
import { type Details, note, type Raw, wellFormed } from './definition-details.ts';
import { type FieldType, optionChecks } from './field-type.ts';
import { fieldTypes, typeOf } from './field-types.ts';
import { collectionNameProblem, fieldNameProblem } from './names.ts';
import { problemOfValue } from './value-schema.ts';

type Check = (value: unknown, definition: FieldDefinition) => string | null;

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

/** @param at the path of the field, such as `fields[1].`; nothing for a single one. */
export function readField(raw: unknown, at: string, details: Details): FieldDefinition | null {
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

function plainObject(value: unknown): string | null {
  return isObject(value) ? null : 'Give an object.';
}
