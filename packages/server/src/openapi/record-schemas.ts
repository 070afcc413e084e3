import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { mustBeGiven } from '../schema/value-schema.ts';
import { exampleOf } from './field-example.ts';
import { valueSchema, withNull } from './field-schema.ts';
import { plainWords } from './plain-words.ts';
import { type Followed, fieldsShown, mayWrite, relationsFollowed, type Subject } from './subject.ts';
import { narrowed } from './system-fields.ts';

type Schemas = Record<string, JsonSchema>;

/** A reference to a schema of the document. */
export function schemaRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The schema of a record as an action shows it: `<collection>.record` for get and what writes answer, `<collection>.listed`
 * where a list shows other fields. Names of collections hold no dot, so these collide with nothing.
 */
export function shownName(subject: Subject, collection: Collection, action: 'list' | 'get'): string {
  const { name } = collection;
  const [get, list] = [subject.grantOf(name, 'get'), subject.grantOf(name, 'list')];
  if (action === 'get' || list === null) return get ? `${name}.record` : `${name}.key`;
  const same = get !== null && collection.fields.every((field) => get.may(field) === list.may(field));
  return same ? `${name}.record` : `${name}.listed`;
}

/** Every schema of one collection's records that the role meets. */
export function recordSchemas(subject: Subject, collection: Collection): Schemas {
  const { name } = collection;
  const relations = relationsFollowed(subject, collection);
  const schemas: Schemas = {};
  for (const action of ['get', 'list'] as const) {
    const fields = fieldsShown(subject, collection, action);
    const under = shownName(subject, collection, action);
    if (fields) {
      const grant = subject.grantOf(name, action)!;
      const appends = relations.filter((each) => grant.may(each.field));
      schemas[under] ??= shownSchema(subject, collection, fields, appends);
    } else if (action === 'get') schemas[under] = keySchema(collection);
  }
  for (const action of ['create', 'update'] as const)
    if (mayWrite(subject, collection, action))
      schemas[`${name}.${action}`] = givenSchema(subject, collection, action, relations);
  return schemas;
}

/** A write answers the key alone to a role that may not get the record. */
function keySchema({ primaryKey }: Collection): JsonSchema {
  const { name } = primaryKey;
  return objectOf({ [name]: valueSchema(primaryKey, 'shown') }, { required: [name] });
}

function shownSchema(
  subject: Subject,
  collection: Collection,
  fields: readonly Field[],
  relations: readonly Followed[],
): JsonSchema {
  const properties: Schemas = {};
  const example: Record<string, unknown> = {};
  const shown = new Set(fields.map((field) => field.name));
  for (const field of collection.fields) {
    const relation = relations.find((each) => each.field === field);
    if (relation) properties[field.name] = described(appended(subject, relation), field);
    if (!shown.has(field.name)) continue;
    const schema = narrowed(collection, field, 'shown') ?? valueSchema(field, 'shown');
    properties[field.name] = { ...described(schema, field), ...(field.kept && { readOnly: true }) };
    const value = narrowed(collection, field, 'shown') ? undefined : exampleOf(field, schema);
    if (value !== undefined) example[field.name] = value;
  }
  return objectOf(properties, { examples: [example] });
}

/** What stands under the name of a relation, where `appends` asks for it. */
function appended(subject: Subject, { field, target }: Followed): JsonSchema {
  const { many } = field.relation!;
  const record = schemaRef(shownName(subject, target, many ? 'list' : 'get'));
  return many ? { type: 'array', items: record } : withNull(record);
}

function givenSchema(
  subject: Subject,
  collection: Collection,
  action: 'create' | 'update',
  relations: readonly Followed[],
): JsonSchema {
  const grant = subject.grantOf(collection.name, action)!;
  const properties: Schemas = {};
  const example: Record<string, unknown> = {};
  const required: string[] = [];
  const either: JsonSchema[] = [];
  for (const field of collection.fields) {
    if (field.kept || !grant.may(field)) continue;
    const schema = givenValue(subject, collection, field, action, relations);
    if (schema === null) continue;
    properties[field.name] = described(schema, field);
    const must = action === 'create' && field.column !== null && mustBeGiven(field);
    const relation = must
      ? relations.find(
          ({ field: each }) =>
            each.relation!.kind === 'belongsTo' && each.relation!.sourceField === field.name && grant.may(each),
        )
      : undefined;
    if (relation) either.push({ anyOf: [{ required: [field.name] }, { required: [relation.field.name] }] });
    else if (must) required.push(field.name);
    const value =
      field.column === null || field.autoIncrement || narrowed(collection, field, 'given')
        ? undefined
        : exampleOf(field, schema);
    if (value !== undefined) example[field.name] = value;
  }
  const whole =
    required.every((name) => name in example) &&
    either.every(({ anyOf }) => (anyOf as { required: string[] }[]).some((each) => each.required[0]! in example));
  return objectOf(properties, {
    ...(required.length > 0 && { required }),
    ...(either.length > 0 && { allOf: either }),
    ...(whole && Object.keys(example).length > 0 && { examples: [example] }),
  });
}

/** What a body may hold for one field; null: nothing. */
function givenValue(
  subject: Subject,
  collection: Collection,
  field: Field,
  action: 'create' | 'update',
  relations: readonly Followed[],
): JsonSchema | null {
  const special = narrowed(collection, field, 'given');
  if (special !== undefined) return special;
  if (field.relation) {
    const relation = relations.find((each) => each.field === field);
    return relation && subject.grantOf(relation.target.name, 'get') ? nested(subject, relation) : null;
  }
  const { defaultValue } = field.definition;
  return {
    ...valueSchema(field, 'given'),
    ...(field.type.secret && { writeOnly: true }),
    ...(action === 'create' && defaultValue !== undefined && defaultValue !== null && { default: defaultValue }),
  };
}

/** Related records in a body: named by their key, changed, or made with it. A list replaces the links that are there. */
function nested(subject: Subject, { field, target }: Followed): JsonSchema {
  const key = valueSchema(target.primaryKey, 'given');
  const object = { type: 'object', properties: { [target.primaryKey.name]: key }, required: [target.primaryKey.name] };
  const bodies = (['create', 'update'] as const)
    .filter((action) => mayWrite(subject, target, action))
    .map((action) => schemaRef(`${target.name}.${action}`));
  const one: JsonSchema = { anyOf: [key, { ...object, additionalProperties: false }, ...bodies] };
  return withNull(field.relation!.many ? { type: 'array', items: one, maxItems: 1000 } : one);
}

/** The schema with the field's own words. */
function described(schema: JsonSchema, { definition }: Field): JsonSchema {
  const { title, description } = definition;
  const own = description === undefined ? null : plainWords(description);
  const words = [own, schema['description']].filter(Boolean).join(' ');
  return { ...(title !== undefined && { title }), ...schema, ...(words !== '' && { description: words }) };
}

function objectOf(properties: Schemas, more: JsonSchema): JsonSchema {
  return { type: 'object', properties, ...more, additionalProperties: false };
}
