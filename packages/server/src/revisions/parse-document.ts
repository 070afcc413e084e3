/** Checks a schema document from a client: its form, and the definitions in it. */
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { CollectionOptions } from '../protocol/definition.ts';
import { prefixDetails } from '../protocol/error-path.ts';
import { isObject } from '../protocol/json-text.ts';
import { checkCollections } from '../schema/definition-check.ts';
import { addDetail, type Details, findDescriptionProblems } from '../schema/definition-details.ts';
import type { Collection } from '../schema/registry.ts';
import {
  type CollectionEntry,
  documentFormat,
  type FieldEntry,
  type Members,
  normaliseDocument,
  type RoleEntry,
  type SchemaDocument,
  type WebhookEntry,
} from './document.ts';

const idPattern = /^[A-Za-z0-9_-]{1,60}$/;
const roleNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,59}$/;
const maxEntries = 10_000;

/** The limits and present collections that definitions are checked with. */
export interface DocumentLimits {
  readonly maxFields: number;
  /** The present collection that an entry describes, by its portable id or its name. */
  findExisting(id: unknown, name: unknown): Collection | null;
  /** Whether a system collection has the name, also one without endpoints. */
  isSystemName(name: unknown): boolean;
}

/**
 * Parses a document. An entry may omit its id; it then has an empty one.
 *
 * @throws ApiError 422 with each problem under its path, such as `collections[1].fields[0].type`.
 */
export function parseDocument(input: unknown, limits: DocumentLimits): SchemaDocument {
  if (!isObject(input))
    throw invalidDefinition({
      schema: 'Give an object: {"format": 1, "collections": [], "roles": [], "webhooks": []}.',
    });
  const details: Details = {};
  refuseUnknown(input, ['format', 'collections', 'roles', 'webhooks'], '', details);
  const { format } = input;
  if (!Number.isInteger(format) || (format as number) < 1 || (format as number) > documentFormat)
    addDetail(
      details,
      'format',
      `This server reads format ${documentFormat} and earlier ones. If a newer version has written the document, upgrade this server.`,
    );
  const collections = readList(input, 'collections', details);
  const roles = readList(input, 'roles', details);
  const webhooks = readList(input, 'webhooks', details);
  for (const [name, entries] of Object.entries({ collections, roles, webhooks }))
    checkIds(entries, (index) => `${name}[${index}]`, details);
  checkIds(
    collections.flatMap(({ fields }) => (Array.isArray(fields) ? fields.filter(isObject) : [])),
    (index) => findFieldPath(collections, index),
    details,
  );
  checkNames(collections, 'collections', details);
  checkNames(roles, 'roles', details);
  for (const [index, role] of roles.entries()) checkRole(role, `roles[${index}]`, details);
  for (const [index, webhook] of webhooks.entries()) checkWebhook(webhook, `webhooks[${index}]`, details);
  checkDefinitions(collections, limits, details);
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
  return normaliseDocument({
    format: documentFormat,
    collections: collections.map(toCollectionEntry),
    roles: roles.map((role) => {
      return { id: '', allowConfigure: false, default: false, permissions: [], ...role } as unknown as RoleEntry;
    }),
    webhooks: webhooks.map((webhook) => ({ id: '', enabled: true, ...webhook }) as unknown as WebhookEntry),
  });
}

function readList(input: Members, name: string, details: Details): Members[] {
  const { [name]: list = [] } = input;
  if (!Array.isArray(list) || list.length > maxEntries) {
    addDetail(details, name, `"${name}" must be a list of at most ${maxEntries} entries.`);
    return [];
  }
  return list.map((each: unknown, index) => {
    if (isObject(each)) return each;
    addDetail(details, `${name}[${index}]`, 'Give an object.');
    return {};
  });
}

function refuseUnknown(entry: Members, known: readonly string[], path: string, details: Details): void {
  for (const name of Object.keys(entry))
    if (!known.includes(name))
      addDetail(
        details,
        `${path}${path === '' ? '' : '.'}${name}`,
        `There is no member "${name.slice(0, 60)}" here. The members are: ${known.join(', ')}.`,
      );
}

function findFieldPath(collections: readonly Members[], index: number): string {
  let rest = index;
  for (const [position, { fields }] of collections.entries()) {
    const list = Array.isArray(fields) ? fields : [];
    const objects = list.filter(isObject);
    if (rest < objects.length) return `collections[${position}].fields[${list.indexOf(objects[rest])}]`;
    rest -= objects.length;
  }
  return 'collections';
}

function checkIds(entries: readonly Members[], toPath: (index: number) => string, details: Details): void {
  const seen = new Map<string, number>();
  entries.forEach(({ id }, index) => {
    if (id === undefined) return;
    const path = `${toPath(index)}.id`;
    if (typeof id !== 'string' || !idPattern.test(id)) {
      addDetail(details, path, 'An id consists of 1 to 60 letters, digits, _ and -. Omit it for something new.');
      return;
    }
    const first = seen.get(id);
    if (first !== undefined)
      addDetail(details, path, `${toPath(first)} has the id "${id}" too. Omit the id of the one that is new.`);
    seen.set(id, first ?? index);
  });
}

function checkNames(entries: readonly Members[], list: string, details: Details): void {
  const seen = new Map<unknown, number>();
  entries.forEach(({ name }, index) => {
    const first = seen.get(name);
    if (first !== undefined)
      addDetail(details, `${list}[${index}].name`, `${list}[${first}] has the same name. Rename one of them.`);
    seen.set(name, first ?? index);
  });
}

const isNames = (input: unknown): boolean => Array.isArray(input) && input.every((each) => typeof each === 'string');

function checkRole(role: Members, path: string, details: Details): void {
  const known = ['id', 'name', 'title', 'description', 'allowConfigure', 'default', 'builtIn', 'permissions'];
  refuseUnknown(role, known, path, details);
  if (typeof role['name'] !== 'string' || !roleNamePattern.test(role['name']))
    addDetail(
      details,
      `${path}.name`,
      'A role name starts with a letter and continues with letters, digits, _ and -. It has at most 60 characters.',
    );
  Object.assign(details, prefixDetails(path, findDescriptionProblems(role, 'title')));
  for (const name of ['title', 'description'])
    if (role[name] !== undefined && typeof role[name] !== 'string') addDetail(details, `${path}.${name}`, 'Give text.');
  for (const name of ['allowConfigure', 'default', 'builtIn'])
    if (role[name] !== undefined && typeof role[name] !== 'boolean')
      addDetail(details, `${path}.${name}`, 'Give true or false.');
  const { permissions = [] } = role;
  if (!Array.isArray(permissions)) addDetail(details, `${path}.permissions`, 'Give a list of permissions.');
  else
    permissions.forEach((each: unknown, index) => {
      const at = `${path}.permissions[${index}]`;
      if (!isObject(each)) {
        addDetail(details, at, 'Give an object: {"resource", "actions"}.');
        return;
      }
      refuseUnknown(each, ['resource', 'actions', 'filter', 'fields', 'exceptFields'], at, details);
      if (typeof each['resource'] !== 'string') addDetail(details, `${at}.resource`, 'Name a collection, or *.');
      if (!isNames(each['actions'])) addDetail(details, `${at}.actions`, 'Give a list of actions.');
      for (const name of ['fields', 'exceptFields'])
        if (each[name] !== undefined && !isNames(each[name]))
          addDetail(details, `${at}.${name}`, 'Give a list of field names.');
    });
}

function checkWebhook(webhook: Members, path: string, details: Details): void {
  refuseUnknown(webhook, ['id', 'url', 'events', 'filter', 'role', 'enabled'], path, details);
  for (const name of ['url', 'role'])
    if (typeof webhook[name] !== 'string') addDetail(details, `${path}.${name}`, 'Give text.');
  if (!isNames(webhook['events'])) addDetail(details, `${path}.events`, 'Give a list of events.');
  if (webhook['enabled'] !== undefined && typeof webhook['enabled'] !== 'boolean')
    addDetail(details, `${path}.enabled`, 'Give true or false.');
}

/** Checks definitions as `collections:apply` does. */
function checkDefinitions(collections: readonly Members[], limits: DocumentLimits, details: Details): void {
  collections.forEach((entry, index) => {
    const path = `collections[${index}]`;
    const { id, system, ...rest } = entry;
    const existing = limits.findExisting(id, entry['name']);
    if (system !== undefined && typeof system !== 'boolean')
      addDetail(details, `${path}.system`, 'Give true or false.');
    if ((system === true) !== (existing?.system === true)) {
      const problem =
        system === true
          ? 'There is no system collection with this name. Remove "system".'
          : 'This is a system collection: add "system": true.';
      addDetail(details, `${path}.system`, problem);
      return;
    }
    if (limits.isSystemName(id) && id !== entry['name'])
      addDetail(details, `${path}.id`, 'A system collection has this id. Give another one, or omit it.');
    if (refuseNull(entry, path, details)) return;
    if (system === true && (rest['options'] !== undefined || rest['title'] !== undefined))
      addDetail(details, path, 'Only the fields of a system collection can be described. Remove the other members.');
    const fields = Array.isArray(rest['fields'])
      ? rest['fields'].map((field: unknown) => (isObject(field) ? omitId(field) : field))
      : rest['fields'];
    // Options and names are checked as those of a new collection: a document says everything.
    const known = system === true ? existing : null;
    try {
      checkCollections([{ ...rest, fields }], limits.maxFields, () => known);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code !== 'DEFINITION_INVALID') throw new ApiError(error.code, `${path}: ${error.message}`);
      const named = Object.entries(error.details ?? {}).map(
        ([name, text]) => [name.replace(/^\[0\]/, ''), text] as const,
      );
      for (const [name, text] of named)
        addDetail(
          details,
          `${path}${name.startsWith('[') || name.startsWith('.') || name === '' ? '' : '.'}${name}`,
          text,
        );
    }
  });
}

/** Null means an absent text; other members must be omitted. @returns whether there is such a member. */
function refuseNull(entry: Members, path: string, details: Details): boolean {
  const find = (members: unknown, at: string): string[] =>
    isObject(members)
      ? Object.keys(members)
          .filter((name) => members[name] === null && name !== 'title' && name !== 'description')
          .map((name) => `${at}.${name}`)
      : [];
  const found = [...find(entry, path), ...find(entry['options'], `${path}.options`)];
  for (const each of found)
    addDetail(
      details,
      each,
      `"${each.slice(each.lastIndexOf('.') + 1)}" is empty. Give a value, or remove the member.`,
    );
  return found.length > 0;
}

function omitId({ id: _id, ...rest }: Members): Members {
  return rest;
}

function toCollectionEntry(input: Members): CollectionEntry {
  const { id = '', name, title, description, system, fields = [], options = {}, ...flat } = input;
  const shared = { id: id as string, name: name as string, fields: (fields as FieldEntry[]).map(toFieldEntry) };
  if (system === true) return { ...shared, system };
  return {
    ...shared,
    ...(title != null && { title: title as string }),
    ...(description != null && { description: description as string }),
    // Options next to "options" are allowed as in collections:create.
    options: { ...flat, ...(options as object) } as unknown as CollectionOptions,
  };
}

function toFieldEntry(input: Members): FieldEntry {
  const { id = '', options, ...rest } = input;
  return { ...rest, ...(options as object | undefined), id } as FieldEntry;
}
