/**
 * Checks every reply of the suite against the OpenAPI document of the role: its status must be documented, and its body
 * must match.
 */
import { hash } from 'node:crypto';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type AccessTable, publicRole } from '../../src/access/access-table.ts';
import type { Application } from '../../src/applications/application.ts';
import { LruMap } from '../../src/base/lru-map.ts';
import { parsePlainRoute } from '../../src/http/route.ts';
import { statusByLabel } from '../../src/http/status.ts';
import { anonymous, parseBearerToken, withRole } from '../../src/identity/authenticator.ts';
import type { Caller } from '../../src/identity/caller.ts';
import { writeDocument } from '../../src/openapi/openapi-document.ts';
import { createSubject, type Subject } from '../../src/openapi/subject.ts';
import { type Collection, Registry } from '../../src/schema/registry.ts';
import { canonicalDate } from '../../src/schema/types/date.ts';
import { canonicalDatetime } from '../../src/schema/types/datetime.ts';
import { textFormats } from '../../src/schema/types/formatted-text.ts';
import { canonicalTime } from '../../src/schema/types/time.ts';
import type { RunningServer } from '../../src/server.ts';
import type { Json } from './json.ts';

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ReceivedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  code: { optimize: false }, // most validators only run a few times
  formats: {
    'date-time': (text: string) => canonicalDatetime(text) === text,
    date: (text: string) => canonicalDate(text) !== null,
    'time-local': (text: string) => canonicalTime(text) !== null,
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    'idn-email': (text: string) => textFormats['email']!.isValid(text),
    iri: (text: string) => textFormats['url']!.isValid(text),
    int64: true,
  },
});
/** Validators by the text of their schema: servers of one suite return the same schemas again and again. */
const validators = new Map<string, ValidateFunction>();
/** Documents by access table, then by role and collection. */
const documents = new WeakMap<AccessTable, Map<string, Json>>();
/**
 * The same documents by {@link hashSubject}, because the tests of a file start from the same definitions on both
 * engines.
 */
const documentsByHash = new LruMap<Json>({ entries: 160, bytes: 2 ** 30, keyLength: 100, sizeOf: 2 ** 21 });

/**
 * The caller and the definitions, as far as they are known before the request is sent. The document is only written if
 * it is
 * needed, and only about the requested collection and those that its relations lead to.
 */
export class ReplyExpectation {
  readonly #subject: Subject;
  readonly #access: AccessTable;

  private constructor(subject: Subject, access: AccessTable) {
    this.#subject = subject;
    this.#access = access;
  }

  /** Null if nothing can be checked, because the application is not open yet. */
  static async forRequest(running: RunningServer, headers: SentRequest['headers']): Promise<ReplyExpectation | null> {
    const name = headers['x-app'] ?? 'main';
    if (name === 'main') return ReplyExpectation.#in(running.applications.main, headers);
    const lease = await Promise.resolve(running.applications.find(name)).catch(() => null);
    try {
      return lease && !lease.error ? await ReplyExpectation.#in(lease.application, headers) : null;
    } finally {
      lease?.release();
    }
  }

  static async #in(application: Application, headers: SentRequest['headers']): Promise<ReplyExpectation | null> {
    const caller = await callerOf(application, headers);
    const context = application.recordContext(caller, null);
    return new ReplyExpectation(createSubject(application, context, statusByLabel), context.access);
  }

  /** The mismatch between a reply and the document, or null. */
  findProblem(asked: SentRequest, answered: ReceivedReply): string | null {
    return findReplyProblem(documentOf(this.#subject, this.#access, resourceOf(asked.path)), asked, answered);
  }
}

async function callerOf({ authenticator }: Application, headers: SentRequest['headers']): Promise<Caller> {
  try {
    const header = headers['authorization'];
    return header === undefined
      ? anonymous
      : withRole(await authenticator.authenticate(parseBearerToken(header)), headers['x-role']);
  } catch {
    return anonymous;
  }
}

/** The document of a caller about a resource. */
function documentOf(subject: Subject, access: AccessTable, resource: string): Json {
  const known = documents.get(access) ?? new Map<string, Json>();
  documents.set(access, known);
  const { type, role } = subject.caller;
  // The operations that an anonymous caller may use depend on all collections.
  const about = type === 'anonymous' ? '*' : (subject.registry.find(resource)?.name ?? '');
  const key = `${type} ${role} ${about}`;
  const document = known.get(key) ?? findDocument(subject, access, about);
  known.set(key, document);
  return document;
}

/**
 * Finds a document or writes it. Writing takes 20 ms of processor time, which would be most of the time of the checks.
 */
function findDocument(subject: Subject, access: AccessTable, about: string): Json {
  const registry = about === '*' ? subject.registry : new Excerpt(subject.registry, about);
  const key =
    subject.extensions.length === 0
      ? hashSubject({ ...subject, registry, whole: subject.registry }, access, about)
      : null;
  const known = key === null ? undefined : documentsByHash.get(key);
  if (known) return known;
  const document = JSON.parse([...writeDocument({ ...subject, registry })].join(''));
  if (key !== null) documentsByHash.set(key, document);
  return document;
}

/** Cached by collection, because registries share the collections that a change does not affect. */
const collectionTexts = new WeakMap<Collection, string>();

/**
 * A hash of everything that a document depends on: the definitions that it describes, and the permissions of the
 * caller.
 */
function hashSubject(subject: Subject & { whole: Registry }, { roles }: AccessTable, about: string): string {
  const { application, caller, registry, mayConfigure } = subject;
  const names = new Set(registry.all().map(({ name }) => name));
  // Permissions for other collections do not matter; permissions for resources that are not collections may matter.
  const permissions = [caller.role, publicRole].map((name) =>
    roles
      .get(name)
      ?.permissions.filter(({ resource }) => names.has(resource) || !subject.whole.find(resource))
      .map(({ id: _, ...permission }) => permission),
  );
  const parts = [application, caller.type, caller.role, mayConfigure, about, permissions];
  const texts = registry.all().map((collection) => {
    const text = collectionTexts.get(collection) ?? describeCollection(collection);
    collectionTexts.set(collection, text);
    return text;
  });
  return hash('sha256', [JSON.stringify(parts, toPlainValue), ...texts].join('\n'));
}

function describeCollection({ byName, traits, primaryKey, trash, fields, ...rest }: Collection): string {
  const plain = { ...rest, trash: trash !== null, fields: fields.map(({ type, ...field }) => [type.name, field]) };
  return JSON.stringify(plain, toPlainValue);
}

/** JSON has neither sets nor big integers. */
function toPlainValue(_: string, value: unknown): unknown {
  return value instanceof Set ? [...value] : typeof value === 'bigint' ? `${value}n` : value;
}

/** The resource is `posts` in `/api/posts/5/tags:list`. */
function resourceOf(path: string): string {
  return decoded(/^\/api\/([^/:?]+)/.exec(path)?.[1] ?? '');
}

/** All definitions, of which only one collection and those that its relations lead to are described; or none. */
class Excerpt extends Registry {
  readonly #reached = new Map<string, Collection>();

  constructor(whole: Registry, from: string) {
    super(whole.version, new Map(whole.all().map((each) => [each.name, each])), whole.systemTraits);
    this.#reach(from);
  }

  override all(): Collection[] {
    return [...this.#reached.values()];
  }

  #reach(name: string): void {
    const collection = this.#reached.has(name) ? null : this.find(name);
    if (!collection) return;
    this.#reached.set(name, collection);
    for (const { relation } of collection.fields) {
      if (relation) this.#reach(relation.target);
      if (relation?.through) this.#reach(relation.through.collection);
    }
  }
}

/** The part of a reply that does not match the document, or null. */
export function findReplyProblem(document: Json, asked: SentRequest, answered: ReceivedReply): string | null {
  const operation = findOperation(document, asked);
  const { status, headers, body } = answered;
  const type = headers.get('content-type');
  // A CORS preflight is described by the Fetch standard, not by the document.
  if (asked.method === 'OPTIONS' && status === 204) return null;
  if (!operation) {
    if (status < 400) return `${status}, and the document has no such operation`;
    return asked.method === 'HEAD' ? null : findSchemaProblem(document, { $ref: '#/components/schemas/Error' }, body);
  }
  const response = resolveReference(document, operation.responses[status]);
  if (!response) return `the status ${status} is not in the document`;
  const header = headerProblem(document, response, headers);
  if (header !== null) return header;
  if (status === 304 || asked.method === 'HEAD') return null;
  if (response.content?.['*/*']) return null; // the bytes of a file
  const media = response.content?.[(type ?? '').split(';')[0]!];
  if (!media) return `the content type ${type} is not in the document`;
  return type!.startsWith('application/json') ? findSchemaProblem(document, media.schema, body) : null;
}

/** Headers of refusals. */
const refusalHeaders = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate'];

function headerProblem(document: Json, response: Json, headers: Headers): string | null {
  for (const name of refusalHeaders) {
    const sent = headers.get(name);
    if (sent === null) continue;
    const { schema } = resolveReference(document, response.headers?.[name]) ?? {};
    if (!schema) return `the header ${name} is not in the document`;
    const problem = findSchemaProblem(document, schema, schema.type === 'integer' ? Number(sent) : sent);
    if (problem !== null) return `the header ${name}: ${problem}`;
  }
  return null;
}

/** The operation of a request, under the method that the document uses for it: read operations also accept POST. */
export function findOperation(document: Json, { method, path }: SentRequest): Json | null {
  if (/^\/api\/files\/\d+(?:\?|$)/.test(path)) return document.paths['/api/files/{key}']?.get ?? null;
  const action = findPlainAction(path, method);
  if (action !== null) {
    const named = document.paths[`/api/${action}`];
    return named ? (named.get ?? named.post) : null;
  }
  const item = document.paths[toPathTemplate(path)];
  if (!item) return null;
  if (method === 'POST') return item.post ?? item.get;
  return method === 'GET' || method === 'HEAD' ? (item.get ?? (path.includes(':query') ? item.post : null)) : null;
}

/** Requests in plain REST style are documented under the action that they mean. */
function findPlainAction(path: string, method: string): string | null {
  try {
    const route = parsePlainRoute(path.split('?')[0]!, method);
    return route && `${route.resource}:${route.action}`;
  } catch {
    return null; // a method that has no meaning for this path
  }
}

/** Converts `/api/posts/5/tags:list/7?…` to `/api/posts/{key}/tags:list`. */
export function toPathTemplate(path: string): string {
  const sent = path.split('?')[0]!.split('/');
  const parts = sent.map(decoded);
  // A key may contain a colon too, and is then sent escaped.
  const plain = sent.findIndex((part) => part.includes(':'));
  const at = plain >= 0 ? plain : parts.findIndex((part) => part.includes(':'));
  if (at < 0) return parts.join('/');
  if (at === 4) parts[3] = parts[2] === 'collections' ? '{collection}' : '{key}';
  return parts.slice(0, at + 1).join('/');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function resolveReference(document: Json, node: Json): Json {
  if (node?.$ref === undefined) return node;
  return node.$ref
    .slice(2)
    .split('/')
    .reduce((inner: Json, name: string) => inner[name], document);
}

/** The violation of a schema of the document by a value, or null. */
export function findSchemaProblem(document: Json, schema: Json, value: unknown): string | null {
  const validate = findValidator(document, schema);
  if (validate(value)) return null;
  const problems = validate
    .errors!.slice(0, 3)
    .map((each) => `${each.instancePath} ${each.message} ${JSON.stringify(each.params)}`);
  return `the body does not fit: ${problems.join('; ')}`;
}

const validatorsBySchema = new WeakMap<object, ValidateFunction>();

function findValidator(document: Json, schema: Json): ValidateFunction {
  const known = validatorsBySchema.get(schema);
  if (known) return known;
  const whole = { allOf: [schema], components: { schemas: reached(document, schema) } };
  const text = JSON.stringify(whole);
  const validate = validators.get(text) ?? ajv.compile(whole);
  validators.set(text, validate);
  validatorsBySchema.set(schema, validate);
  return validate;
}

/** The schemas that a schema refers to. */
function reached(document: Json, schema: Json): Record<string, Json> {
  const found: Record<string, Json> = {};
  const look = (node: Json): void => {
    if (node === null || typeof node !== 'object') return;
    const name = typeof node.$ref === 'string' ? node.$ref.split('/').at(-1)! : null;
    if (name !== null && !(name in found)) {
      found[name] = resolveReference(document, { $ref: node.$ref });
      look(found[name]);
    }
    for (const each of Object.values(node)) look(each);
  };
  look(schema);
  return found;
}
