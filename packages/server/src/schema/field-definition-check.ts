import { invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { isObject } from '../protocol/json-text.ts';
import { requireNoContradiction } from './collection-options-check.ts';
import {
  addDetail,
  type Details,
  descriptionProblem,
  findMalformedText,
  jsonSizeProblem,
  type Raw,
  titleProblem,
} from './definition-details.ts';
import { type FieldType, optionChecks } from './field-type.ts';
import { fieldTypes, resolveFieldType } from './field-types.ts';
import { fieldNameProblem } from './names.ts';
import { compareNumbers } from './number-text.ts';
import { dropNeutralProperties, relationChecks } from './relation-definition-check.ts';
import { isSearchableType } from './search-fields.ts';
import { findValueProblem } from './value-schema.ts';

type Check = (value: unknown, definition: FieldDefinition) => string | null;

const { text, truth } = optionChecks;
const commonOptions: Readonly<Record<string, Check>> = {
  type: text,
  title: titleProblem,
  description: descriptionProblem,
  uiSchema: checkPlainObject,
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

/** Properties that hold any JSON. */
const freeForm: ReadonlySet<string> = new Set(['uiSchema', 'defaultValue']);

/** The properties of a field type other than its name and type, each with the check of its value. */
export function propertyChecks(type: FieldType): Readonly<Record<string, Check>> {
  if (type.relation) return { ...commonOptions, ...relationChecks[type.name] };
  return { ...commonOptions, ...columnOptions, ...(isSearchableType(type) && { searchIndex: truth }), ...type.options };
}

/**
 * Checks the definition of one field, with nested or flat options.
 *
 * @throws ApiError `DEFINITION_INVALID` with a detail for each invalid property.
 */
export function checkField(input: unknown): FieldDefinition {
  const details: Details = {};
  const definition = readField(input, '', details);
  if (definition?.primaryKey)
    addDetail(details, 'primaryKey', 'A primary key can only be defined when the collection is created.');
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return definition!;
}

/** @param path the path of the field, such as `fields[1].`; empty for a single field. */
export function readField(raw: unknown, path: string, details: Details): FieldDefinition | null {
  if (!isObject(raw)) {
    addDetail(details, path === '' ? 'body' : path.slice(0, -1), 'Give a field: {"name", "type", …}.');
    return null;
  }
  const input = Object.fromEntries(
    Object.entries(flattenOptions(raw)).filter(([key, value]) => value !== null || key === 'defaultValue'),
  );
  const nameProblem = fieldNameProblem(input['name']);
  addDetail(details, `${path}name`, nameProblem);
  const base = typeof input['type'] === 'string' ? fieldTypes.find(input['type']) : undefined;
  if (!base) {
    addDetail(details, `${path}type`, `Give one of the field types: ${fieldTypes.names().join(', ')}.`);
    return null;
  }
  const definition = input as unknown as FieldDefinition;
  checkProperties(input, base, path, details);
  if (!base.relation) checkColumn(definition, resolveFieldType(definition), path, details);
  if (nameProblem) return null;
  return base.relation ? (dropNeutralProperties(input) as unknown as FieldDefinition) : definition;
}

/**
 * The properties of a field, those in `options` next to the others.
 *
 * @throws ApiError 400 for a property that is given twice with different values.
 */
export function flattenOptions(raw: Raw): Raw {
  const { options, ...rest } = raw;
  if (!isObject(options)) return raw;
  requireNoContradiction(rest, options);
  return { ...options, ...rest };
}

function checkProperties(input: Raw, type: FieldType, path: string, details: Details): void {
  const allowed = propertyChecks(type);
  for (const [key, value] of Object.entries(input)) {
    if (key === 'name' || key === 'type') continue;
    const check = Object.hasOwn(allowed, key) ? allowed[key] : undefined;
    const problem = check
      ? check(value, input as unknown as FieldDefinition)
      : `${withArticle(type.name)} ${type.name} field has no property "${key.slice(0, 60)}".`;
    addDetail(
      details,
      `${path}${key}`,
      problem ?? findMalformedText(value) ?? (freeForm.has(key) ? jsonSizeProblem(value) : null),
    );
  }
  if (type.relation && input['target'] === undefined)
    addDetail(
      details,
      `${path}target`,
      'A relation needs "target". Give the name of the collection that it refers to.',
    );
  if (type.name === 'select' && input['enum'] === undefined)
    addDetail(details, `${path}enum`, 'A select field needs "enum". Give the list of its choices.');
  if ((type.secret || type.name === 'file') && input['defaultValue'] != null)
    addDetail(details, `${path}defaultValue`, `A ${type.name} field cannot have a default value.`);
}

function withArticle(word: string): string {
  return /^[aeiou]/.test(word) && word !== 'uid' ? 'An' : 'A';
}

function checkColumn(definition: FieldDefinition, type: FieldType, path: string, details: Details): void {
  const { primaryKey, autoIncrement, unique, index, defaultValue, min, max } = definition;
  if (primaryKey && !['integer', 'bigInt', 'string', 'uid'].includes(type.name))
    addDetail(details, `${path}primaryKey`, 'The primary key must be an integer, bigInt, string or uid field.');
  if (autoIncrement && !(primaryKey && (type.name === 'integer' || type.name === 'bigInt')))
    addDetail(details, `${path}autoIncrement`, 'Only an integer or bigInt primary key can have "autoIncrement".');
  if ((unique || index) && !type.sortable)
    addDetail(
      details,
      `${path}${unique ? 'unique' : 'index'}`,
      `${withArticle(type.name)} ${type.name} field cannot be indexed or unique.`,
    );
  if (min != null && max != null && compareNumbers(min, max) > 0)
    addDetail(details, `${path}min`, '"min" is greater than "max".');
  // Null means that there is no default, also where the field itself may not be null.
  if (defaultValue === undefined || defaultValue === null) return;
  if (Object.keys(details).some((key) => key.startsWith(path))) return;
  addDetail(details, `${path}defaultValue`, findValueProblem(type, definition, defaultValue));
}

function checkPlainObject(value: unknown): string | null {
  return isObject(value) ? null : 'Give an object.';
}
