/** Derives the collections and permissions of a role from its OpenAPI document. Field options are not known. */
import type { Collection, Field } from '@tablinum/client';

/** The parts of the document that are used. */
export interface DocumentPart {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly tags?: readonly {
    readonly name: string;
    /** The title of the collection. The description of a tag is Markdown, and also contains that of the collection. */
    readonly 'x-tablinum-title'?: string;
    /** A system collection. */
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
  /** The field is a secret. */
  readonly writeOnly?: boolean;
}

/** What a role may do, apart from conditions on single records. */
export interface Rights {
  /** Whether the role allows an action of a collection, or of a resource such as `fields`. */
  may(resource: string, action: string): boolean;
  /** Whether the role may write a property of a record on create or update. */
  mayWrite(collection: string, action: 'create' | 'update', member: string): boolean;
  /** Whether the role may change the links of a relation. */
  mayLink(collection: string, relation: string): boolean;
}

export interface RoleDocument {
  /** The collections with the fields that the role can read. */
  readonly collections: readonly Collection[];
  /** The collections with all fields that the role can read or write. */
  readonly forms: readonly Collection[];
  readonly rights: Rights;
}

/** Reads the collections and permissions of an OpenAPI document. */
export function parseRoleDocument(document: DocumentPart): RoleDocument {
  const { tags = [], components } = document;
  const { schemas } = components;
  const rights = readRights(document);
  const names = new Set(Object.keys(schemas).flatMap((each) => /^(\w+)\.(?:record|listed)$/.exec(each)?.[1] ?? []));
  const buildCollection = (name: string, given: boolean): Collection => {
    const readable = { ...schemas[`${name}.listed`]?.properties, ...schemas[`${name}.record`]?.properties };
    const writable = ['update', 'create'].map((action) => (given && schemas[`${name}.${action}`]?.properties) || {});
    const all = { ...readable, ...writable[0], ...writable[1], ...readable }; // the response schema is more precise about the type than the request schema
    const required = schemas[`${name}.create`]?.required ?? [];
    const fields = Object.entries(all).map(([field, schema]) => buildField(field, schema, required.includes(field)));
    const tag = tags.find((each) => each.name === name);
    const title = tag?.['x-tablinum-title'] ?? null;
    const options = { paranoid: rights.may(name, 'restore'), logging: rights.may(name, 'history') };
    const system = tag?.['x-tablinum-system'] === true;
    return { name, title, description: null, fields: linkForeignKeys(fields), options, ...(system && { system }) };
  };
  const buildCollections = (given: boolean): Collection[] => [...names].map((name) => buildCollection(name, given));
  return { collections: buildCollections(false), forms: buildCollections(true), rights };
}

function readRights({ paths, components: { schemas } }: DocumentPart): Rights {
  const pathNames = new Set(Object.keys(paths));
  return {
    may: (resource, action) => pathNames.has(`/api/${resource}:${action}`),
    mayWrite: (collection, action, member) =>
      pathNames.has(`/api/${collection}:${action}`) &&
      Object.hasOwn(schemas[`${collection}.${action}`]?.properties ?? {}, member),
    mayLink: (collection, relation) => pathNames.has(`/api/${collection}/{key}/${relation}:add`),
  };
}

function buildField(name: string, schema: ValueSchema, required: boolean): Field {
  const { title } = schema;
  return {
    name,
    ...(title !== undefined && { title }),
    ...readType(schema),
    ...(required && { required }),
    ...(schema.readOnly && { readOnly: true }),
    ...(schema.maxLength !== undefined && { maxLength: schema.maxLength }),
    ...(name === 'id' && { primaryKey: true, autoIncrement: true }),
  };
}

/** OpenAPI formats that are also the name of a field type. */
const formats: Readonly<Record<string, string>> = {
  'date-time': 'datetime',
  date: 'date',
  'idn-email': 'email',
  iri: 'url',
  'time-local': 'time',
  uuid: 'uid',
};

function readType(schema: ValueSchema): Pick<Field, 'type' | 'target' | 'enum' | 'multiple'> {
  if (schema.writeOnly) return { type: 'password' };
  if (isFile(schema)) return { type: 'file' };
  if (schema.items && isFile(schema.items)) return { type: 'file', multiple: true };
  const target = readTarget(schema);
  if (target) return { type: 'belongsTo', target };
  const toManyTarget = schema.items && readTarget(schema.items);
  if (toManyTarget) return { type: 'hasMany', target: toManyTarget };
  const kinds = [schema.type ?? []].flat();
  if (kinds.includes('number') && kinds.includes('string')) return { type: 'decimal' };
  const type = kinds.find((each) => each !== 'null');
  const choices = readChoices(schema);
  if (choices) return { type: 'select', enum: choices };
  const itemChoices = schema.items && readChoices(schema.items);
  if (itemChoices) return { type: 'select', enum: itemChoices, multiple: true };
  if (schema.format === 'int64') return { type: 'bigInt' };
  if (type === 'string')
    return { type: formats[schema.format ?? ''] ?? (schema.pattern?.includes('\\d') ? 'decimal' : 'string') };
  if (type === 'array') return { type: 'array' };
  const plain: Readonly<Record<string, string>> = { integer: 'integer', number: 'double', boolean: 'boolean' };
  return { type: plain[type ?? ''] ?? 'json' };
}

/** The schema of a file in a reply. */
function isFile({ properties }: ValueSchema): boolean {
  return properties?.['url'] !== undefined && properties['contentType'] !== undefined;
}

function readChoices(schema: ValueSchema): string[] | null {
  return (schema.enum?.filter((each) => typeof each === 'string') as string[] | undefined) ?? null;
}

function readTarget(schema: ValueSchema): string | null {
  const reference = [schema, ...(schema.anyOf ?? [])].find((each) => each.$ref)?.$ref;
  return (reference && /\/(\w+)\.\w+$/.exec(reference)?.[1]) ?? null;
}

/** Finds the foreign key of a to-one relation: the field with its name and the suffix `Id`. */
function linkForeignKeys(fields: readonly Field[]): Field[] {
  const names = new Set(fields.map((each) => each.name));
  return fields.map((field) =>
    field.type !== 'belongsTo'
      ? field
      : names.has(`${field.name}Id`)
        ? { ...field, foreignKey: `${field.name}Id`, targetKey: 'id' }
        : { ...field, type: 'hasOne' },
  );
}
