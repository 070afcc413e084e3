/**
 * Merges the definition of a field with its changes. Properties that the changes do not name are kept. If the type
 * changes and the new type does not have such a property, the change is refused and the error names the property.
 */
import { invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import type { Details, Raw } from '../schema/definition-details.ts';
import { checkField, flattenOptions, propertyChecks } from '../schema/field-definition-check.ts';
import { type FieldType, invalidOperand, toExactValue } from '../schema/field-type.ts';
import { fieldTypes, resolveFieldType } from '../schema/field-types.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { findValueProblem } from '../schema/value-schema.ts';
import { getEffectiveDefinition, isSameProperty } from './field-differences.ts';
import { convertValue } from './field-values.ts';

const foreignKeyProperties: ReadonlySet<string> = new Set(['required', 'unique']);
/** Properties that only describe a field. */
const descriptiveProperties: ReadonlySet<string> = new Set(['title', 'description', 'uiSchema']);

/** @throws ApiError 422 with a detail for each property that cannot change, or that does not exist in the new type. */
export function mergeFieldDefinition(
  field: Field,
  input: Raw,
  collection: Collection,
  registry: Registry,
): FieldDefinition {
  const changes = flattenOptions(input);
  const type = typeof changes['type'] === 'string' ? fieldTypes.find(changes['type']) : undefined;
  if (type && type.relation !== field.type.relation)
    throw invalidDefinition({
      type: 'A field cannot change from a value to a relation, or to another kind of relation. Create a new field instead.',
    });
  if (field.relation || field.primaryKey) return mergeDescriptiveProperties(field, changes, collection, registry);
  const { defaultValue, ...rest } = { ...carryOverProperties(field.definition, changes), ...changes };
  const definition = checkField(omitNulls(rest));
  if (Object.hasOwn(changes, 'defaultValue')) return checkField({ ...definition, defaultValue });
  return withDefault(field, definition, defaultValue);
}

/** Merges the changes of a relation or a primary key, which can only change their descriptive properties. */
function mergeDescriptiveProperties(
  field: Field,
  changes: Raw,
  collection: Collection,
  registry: Registry,
): FieldDefinition {
  const before = getEffectiveDefinition(field, collection, registry);
  const rejectedProperty = Object.keys(changes).find(
    (key) => !isChangeable(key, field) && !isSameProperty(key, changes[key], before[key]),
  );
  if (rejectedProperty !== undefined) {
    const kind = field.relation ? 'relation' : 'primary key';
    throw invalidDefinition({
      [rejectedProperty]: `A ${kind} can only change its name, title, description and uiSchema, and a belongsTo also "required" and "unique". Destroy the field and create it again.`,
    });
  }
  const descriptiveChanges = Object.entries(changes).filter(([key]) => isChangeable(key, field));
  const { primaryKey, autoIncrement, ...rest } = omitNulls({
    ...field.definition,
    ...Object.fromEntries(descriptiveChanges),
  });
  const checked = checkField(rest);
  return { ...checked, ...(primaryKey !== undefined && { primaryKey, autoIncrement }) } as FieldDefinition;
}

/** Whether a belongsTo is required or unique is a property of its foreign key, which is changed too. */
function isChangeable(property: string, { relation }: Field): boolean {
  return descriptiveProperties.has(property) || (foreignKeyProperties.has(property) && relation?.kind === 'belongsTo');
}

function omitNulls(properties: Raw): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null && value !== undefined));
}

/** The properties of the former definition that the changes do not name and that the new type has. */
function carryOverProperties(before: FieldDefinition, changes: Raw): Raw {
  const type = fieldTypes.find(String(changes['type'] ?? before.type));
  if (!type || type.name === before.type) return { ...before };
  const checks = propertyChecks(type);
  const merged = { ...before, ...changes } as FieldDefinition;
  const details: Details = {};
  const carried = Object.entries(before).filter(([name, value]) => {
    if (name === 'name' || name === 'type' || name === 'defaultValue') return true;
    if (Object.hasOwn(changes, name) || value === null) return false;
    const check = checks[name];
    if (!check && value === false) return false;
    const problem = check ? check(value, merged) : unknownPropertyMessage(type, name);
    if (problem !== null) details[name] = `${problem} Give null to remove the property, or a new value.`;
    return true;
  });
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return Object.fromEntries(carried);
}

function unknownPropertyMessage({ name: type }: FieldType, name: string): string {
  return `The new type "${type}" has no property "${name}".`;
}

/** A default value in the form in which records contain it, from which a conversion starts. */
function toStoredForm({ type, definition }: Field, given: unknown): unknown {
  const canonical = type.read(toExactValue(type, given), definition);
  return canonical === invalidOperand ? given : canonical;
}

/** The definition with the former default value, in the form of the new type. */
function withDefault(before: Field, definition: FieldDefinition, previousDefault: unknown): FieldDefinition {
  if (previousDefault === null || previousDefault === undefined) return definition;
  const type = resolveFieldType(definition);
  const isTypeChanged = type.name !== before.type.name;
  const isStillValid = !isTypeChanged && !type.secret && findValueProblem(type, definition, previousDefault) === null;
  const converted = isStillValid
    ? previousDefault
    : convertValue(isTypeChanged ? toStoredForm(before, previousDefault) : previousDefault, type, definition);
  if (type.secret || converted === invalidOperand)
    throw invalidDefinition({
      defaultValue: 'The default value does not fit the changed field. Give null to remove it, or a new value.',
    });
  return { ...definition, defaultValue: converted };
}
