import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { isRequiredOnCreate } from '../schema/value-schema.ts';
import { escapeMarkdown } from './escape-markdown.ts';
import { makeExample } from './field-example.ts';
import { valueSchema, withNull } from './field-schema.ts';
import {
  findPartRelations,
  findVisibleFields,
  findVisibleRelations,
  mayWrite,
  type Subject,
  type VisibleRelation,
} from './subject.ts';
import { describeAddedParts, findNarrowedSchema } from './system-fields.ts';

type Schemas = Record<string, JsonSchema>;

/** A reference to a schema of the document. */
export function schemaRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The name of a record schema: `<collection>.record` for get and the replies of writes, `<collection>.listed` if a list returns
 * other fields. Names of collections contain no dots, so these names are unique.
 */
export function recordSchemaName(subject: Subject, collection: Collection, action: 'list' | 'get'): string {
  const { name } = collection;
  const [get, list] = [subject.findGrant(name, 'get'), subject.findGrant(name, 'list')];
  if (action === 'get' || list === null) return get ? `${name}.record` : `${name}.key`;
  const isSame = get !== null && collection.fields.every((field) => get.may(field) === list.may(field));
  return isSame ? `${name}.record` : `${name}.listed`;
}

/** All record schemas of one collection for the role. */
export function buildRecordSchemas(subject: Subject, collection: Collection): Schemas {
  const { name } = collection;
  const relations = findVisibleRelations(subject, collection);
  const schemas: Schemas = {};
  for (const action of ['get', 'list'] as const) {
    const fields = findVisibleFields(subject, collection, action);
    const schemaName = recordSchemaName(subject, collection, action);
    if (fields) {
      const grant = subject.findGrant(name, action)!;
      const appends = relations.filter((each) => grant.may(each.field));
      schemas[schemaName] ??= withParts(subject, collection, makeRecordSchema(subject, collection, fields, appends));
    } else if (action === 'get') schemas[schemaName] = keySchema(collection);
  }
  for (const action of ['create', 'update'] as const)
    if (mayWrite(subject, collection, action))
      schemas[`${name}.${action}`] = makeInputSchema(subject, collection, action, relations);
  return schemas;
}

/** Adds the parts of a record that a reply only contains if `fields` or `appends` names them. */
function withParts(subject: Subject, collection: Collection, record: JsonSchema): JsonSchema {
  const parts = findPartRelations(subject, collection).map(({ field, target }) => {
    const { examples, ...schema } = makeRecordSchema(
      subject,
      target,
      findVisibleFields(subject, target, 'get') ?? [],
      [],
    );
    return [field.name, withDescription(withNull(schema), field)];
  });
  return parts.length === 0
    ? record
    : { ...record, properties: { ...(record['properties'] as Schemas), ...Object.fromEntries(parts) } };
}

/** A write only returns the key to a role that may not get the record. */
function keySchema({ primaryKey }: Collection): JsonSchema {
  const { name } = primaryKey;
  return closedObject({ [name]: valueSchema(primaryKey, 'shown') }, { required: [name] });
}

function makeRecordSchema(
  subject: Subject,
  collection: Collection,
  fields: readonly Field[],
  relations: readonly VisibleRelation[],
): JsonSchema {
  const properties: Schemas = {};
  const example: Record<string, unknown> = {};
  const visibleNames = new Set(fields.map((field) => field.name));
  for (const field of collection.fields) {
    const relation = relations.find((each) => each.field === field);
    if (relation) properties[field.name] = withDescription(makeRelationSchema(subject, relation), field);
    if (!visibleNames.has(field.name)) continue;
    const schema = findNarrowedSchema(collection, field, 'shown') ?? valueSchema(field, 'shown');
    properties[field.name] = { ...withDescription(schema, field), ...(field.serverManaged && { readOnly: true }) };
    const value = findNarrowedSchema(collection, field, 'shown') ? undefined : makeExample(field, schema);
    if (value !== undefined) example[field.name] = value;
  }
  return closedObject({ ...properties, ...describeAddedParts(subject, collection) }, { examples: [example] });
}

/** The schema of an included relation (`appends`). */
function makeRelationSchema(subject: Subject, { field, target }: VisibleRelation): JsonSchema {
  const { many } = field.relation!;
  const record = schemaRef(recordSchemaName(subject, target, many ? 'list' : 'get'));
  return many ? { type: 'array', items: record } : withNull(record);
}

function makeInputSchema(
  subject: Subject,
  collection: Collection,
  action: 'create' | 'update',
  relations: readonly VisibleRelation[],
): JsonSchema {
  const grant = subject.findGrant(collection.name, action)!;
  const properties: Schemas = {};
  const example: Record<string, unknown> = {};
  const required: string[] = [];
  const alternatives: JsonSchema[] = [];
  for (const field of collection.fields) {
    if (field.serverManaged || !grant.may(field)) continue;
    const schema = makeInputValueSchema(subject, field, { collection, action, relations });
    if (schema === null) continue;
    properties[field.name] = withDescription(schema, field);
    const isRequired = action === 'create' && field.column !== null && isRequiredOnCreate(field);
    const relation = isRequired
      ? relations.find(
          ({ field: each }) =>
            each.relation!.kind === 'belongsTo' && each.relation!.sourceField === field.name && grant.may(each),
        )
      : undefined;
    if (relation) alternatives.push({ anyOf: [{ required: [field.name] }, { required: [relation.field.name] }] });
    else if (isRequired) required.push(field.name);
    const value =
      field.column === null || field.autoIncrement || findNarrowedSchema(collection, field, 'given')
        ? undefined
        : makeExample(field, schema);
    if (value !== undefined) example[field.name] = value;
  }
  const isExampleComplete =
    required.every((name) => name in example) &&
    alternatives.every(({ anyOf }) => (anyOf as { required: string[] }[]).some((each) => each.required[0]! in example));
  return closedObject(properties, {
    ...(required.length > 0 && { required }),
    ...(alternatives.length > 0 && { allOf: alternatives }),
    ...(isExampleComplete && Object.keys(example).length > 0 && { examples: [example] }),
  });
}

/** The request body that the schema of a field is for. */
interface InputScope {
  readonly collection: Collection;
  readonly action: 'create' | 'update';
  readonly relations: readonly VisibleRelation[];
}

/** The schema of a field in a request body; null if it cannot be set. */
function makeInputValueSchema(
  subject: Subject,
  field: Field,
  { collection, action, relations }: InputScope,
): JsonSchema | null {
  const systemSchema = findNarrowedSchema(collection, field, 'given');
  if (systemSchema !== undefined) return systemSchema;
  if (field.relation) {
    const relation = relations.find((each) => each.field === field);
    return relation && subject.findGrant(relation.target.name, 'get') ? makeNestedInputSchema(subject, relation) : null;
  }
  const { defaultValue } = field.definition;
  return {
    ...valueSchema(field, 'given'),
    ...(field.type.secret && { writeOnly: true }),
    ...(action === 'create' && defaultValue !== undefined && defaultValue !== null && { default: defaultValue }),
  };
}

/** Related records in a body: linked by key, changed, or created. A list replaces the existing links. */
function makeNestedInputSchema(subject: Subject, { field, target }: VisibleRelation): JsonSchema {
  const key = valueSchema(target.primaryKey, 'given');
  const object = { type: 'object', properties: { [target.primaryKey.name]: key }, required: [target.primaryKey.name] };
  const bodies = (['create', 'update'] as const)
    .filter((action) => mayWrite(subject, target, action))
    .map((action) => schemaRef(`${target.name}.${action}`));
  const one: JsonSchema = { anyOf: [key, { ...object, additionalProperties: false }, ...bodies] };
  return withNull(field.relation!.many ? { type: 'array', items: one, maxItems: 1000 } : one);
}

/** The schema with the title and description of the field. */
function withDescription(schema: JsonSchema, { definition }: Field): JsonSchema {
  const { title, description } = definition;
  const ownDescription = description === undefined ? null : escapeMarkdown(description);
  const fullDescription = [ownDescription, schema['description']].filter(Boolean).join(' ');
  return {
    ...(title !== undefined && { title }),
    ...schema,
    ...(fullDescription !== '' && { description: fullDescription }),
  };
}

function closedObject(properties: Schemas, extra: JsonSchema): JsonSchema {
  return { type: 'object', properties, ...extra, additionalProperties: false };
}
