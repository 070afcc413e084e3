/** What an OpenAPI document says of its role: collections with names, fields and types, without options; and rights. */
import type { Collection, Field } from '@tablinum/client';

/** The parts of the document that are read. */
export interface DocumentPart {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly tags?: readonly {
    readonly name: string;
    readonly description?: string;
    /** One of the server's own collections. */
    readonly 'x-tablinum-system'?: boolean;
  }[];
  readonly components: { readonly schemas: Readonly<Record<string, ValueSchema>> };
}

interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly items?: ValueSchema;
  readonly anyOf?: readonly ValueSchema[];
  readonly $ref?: string;
  readonly title?: string;
  readonly maxLength?: number;
  readonly readOnly?: boolean;
  /** A secret. */
  readonly writeOnly?: boolean;
}

/** What a role may do, as far as it does not depend on the record. */
export interface Rights {
  /** Whether the role may ask an action of a collection, or of a resource such as `fields`. */
  may(resource: string, action: string): boolean;
  /** Whether the role may give a member of a record when it is made or changed. */
  mayWrite(collection: string, action: 'create' | 'update', member: string): boolean;
  /** Whether the role may change which records a relation names. */
  mayLink(collection: string, relation: string): boolean;
}

export interface RoleDocument {
  /** With the fields that the role is shown. */
  readonly collections: readonly Collection[];
  /** With those too that it may give and is not shown. */
  readonly forms: readonly Collection[];
  readonly rights: Rights;
}

/** The collections of which a document shows records, and what it says may be done. */
export function readDocument(document: DocumentPart): RoleDocument {
  const { tags = [], components } = document;
  const { schemas } = components;
  const rights = rightsOf(document);
  const names = new Set(Object.keys(schemas).flatMap((each) => /^(\w+)\.(?:record|listed)$/.exec(each)?.[1] ?? []));
  const collectionOf = (name: string, given: boolean): Collection => {
    const shown = { ...schemas[`${name}.listed`]?.properties, ...schemas[`${name}.record`]?.properties };
    const written = ['update', 'create'].map((action) => (given && schemas[`${name}.${action}`]?.properties) || {});
    const all = { ...shown, ...written[0], ...written[1], ...shown }; // what is shown says more of its type than what is taken
    const required = schemas[`${name}.create`]?.required ?? [];
    const fields = Object.entries(all).map(([field, schema]) => fieldOf(field, schema, required.includes(field)));
    const tag = tags.find((each) => each.name === name);
    const title = tag?.description ?? null;
    const options = { paranoid: rights.may(name, 'restore'), logging: rights.may(name, 'history') };
    const system = tag?.['x-tablinum-system'] === true;
    return { name, title, description: null, fields: linked(fields), options, ...(system && { system }) };
  };
  const every = (given: boolean): Collection[] => [...names].map((name) => collectionOf(name, given));
  return { collections: every(false), forms: every(true), rights };
}

function rightsOf({ paths, components: { schemas } }: DocumentPart): Rights {
  const there = new Set(Object.keys(paths));
  return {
    may: (resource, action) => there.has(`/api/${resource}:${action}`),
    mayWrite: (collection, action, member) =>
      there.has(`/api/${collection}:${action}`) &&
      Object.hasOwn(schemas[`${collection}.${action}`]?.properties ?? {}, member),
    mayLink: (collection, relation) => there.has(`/api/${collection}/{key}/${relation}:add`),
  };
}

function fieldOf(name: string, schema: ValueSchema, required: boolean): Field {
  const { title } = schema;
  return {
    name,
    ...(title !== undefined && { title }),
    ...typeOf(schema),
    ...(required && { required }),
    ...(schema.readOnly && { readOnly: true }),
    ...(schema.maxLength !== undefined && { maxLength: schema.maxLength }),
    ...(name === 'id' && { primaryKey: true, autoIncrement: true }),
  };
}

/** Formats that are the name of a field type. */
const formats: Readonly<Record<string, string>> = {
  'date-time': 'datetime',
  date: 'date',
  'idn-email': 'email',
  iri: 'url',
  'time-local': 'time',
  uuid: 'uid',
};

function typeOf(schema: ValueSchema): Pick<Field, 'type' | 'target' | 'enum' | 'multiple'> {
  if (schema.writeOnly) return { type: 'password' };
  const target = targetOf(schema);
  if (target) return { type: 'belongsTo', target };
  const many = schema.items && targetOf(schema.items);
  if (many) return { type: 'hasMany', target: many };
  const kinds = [schema.type ?? []].flat();
  if (kinds.includes('number') && kinds.includes('string')) return { type: 'decimal' };
  const type = kinds.find((each) => each !== 'null');
  const choices = choicesOf(schema);
  if (choices) return { type: 'select', enum: choices };
  const several = schema.items && choicesOf(schema.items);
  if (several) return { type: 'select', enum: several, multiple: true };
  if (schema.format === 'int64') return { type: 'bigInt' };
  if (type === 'string')
    return { type: formats[schema.format ?? ''] ?? (schema.pattern?.includes('\\d') ? 'decimal' : 'string') };
  if (type === 'array') return { type: 'array' };
  const plain: Readonly<Record<string, string>> = { integer: 'integer', number: 'double', boolean: 'boolean' };
  return { type: plain[type ?? ''] ?? 'json' };
}

function choicesOf(schema: ValueSchema): string[] | null {
  return (schema.enum?.filter((each) => typeof each === 'string') as string[] | undefined) ?? null;
}

function targetOf(schema: ValueSchema): string | null {
  const reference = [schema, ...(schema.anyOf ?? [])].find((each) => each.$ref)?.$ref;
  return (reference && /\/(\w+)\.\w+$/.exec(reference)?.[1]) ?? null;
}

/** A to-one relation and the field beside it that bears its name and `Id` belong together. */
function linked(fields: readonly Field[]): Field[] {
  const names = new Set(fields.map((each) => each.name));
  return fields.map((field) =>
    field.type !== 'belongsTo'
      ? field
      : names.has(`${field.name}Id`)
        ? { ...field, foreignKey: `${field.name}Id`, targetKey: 'id' }
        : { ...field, type: 'hasOne' },
  );
}
