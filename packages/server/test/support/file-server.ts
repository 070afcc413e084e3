/** A server with a collection that has file fields, users of several roles, and uploads. */
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { type Reply, TestServer } from './scenario.ts';

export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export interface FileInput {
  readonly name: string;
  readonly type?: string;
  readonly content: string | Uint8Array<ArrayBuffer>;
}

/**
 * A server with the collection `posts` (`title`, `photo`, `papers`), the editors ann and ben, and the viewer vic.
 */
export async function startFileServer(
  engine: Engine,
  options: Parameters<typeof TestServer.start>[1] = {},
): Promise<TestServer> {
  const server = await TestServer.start(engine, options);
  const fields = [
    { name: 'title', type: 'string' },
    { name: 'photo', type: 'file', accept: ['image/*'], maxSize: 1000 },
    { name: 'papers', type: 'file', multiple: true, maxCount: 3 },
  ];
  await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
  for (const [name, role] of [
    ['ann', 'editor'],
    ['ben', 'editor'],
    ['vic', 'viewer'],
  ] as const)
    await addUser(server, name, role);
  return server;
}

/** Creates a user with one role, and signs in. The token is stored under the user's name. */
export async function addUser(server: TestServer, name: string, role: string): Promise<void> {
  const password = `a quiet password of ${name}`;
  await server.data('POST /api/users:create', {
    body: { email: `${name}@example.com`, password, roles: [role] },
  });
  server.tokens.set(name, await server.signIn(`${name}@example.com`, password));
}

/** Sends files as a browser would. */
export async function sendFiles(
  server: TestServer,
  path: string,
  {
    as = 'ann',
    files,
    json,
    headers = {},
  }: {
    readonly as?: string;
    readonly files: readonly FileInput[];
    readonly json?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<Reply> {
  const form = new FormData();
  if (json !== undefined) form.append('data', JSON.stringify(json));
  for (const { name, type, content } of files)
    form.append('file', new Blob([content], type === undefined ? {} : { type }), name);
  const response = await fetch(server.running.url + path, {
    method: 'POST',
    headers: { ...(as !== 'nobody' && { authorization: `Bearer ${server.tokens.get(as)}` }), ...headers },
    body: form,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** Uploads one file. */
export async function uploadFile(server: TestServer, file: FileInput, as = 'ann'): Promise<Json> {
  const { status, body, text } = await sendFiles(server, '/api/files:upload', { as, files: [file] });
  if (status !== 200) throw new Error(`the upload of ${file.name} was refused: ${status} ${text}`);
  return body.data[0];
}

/** Downloads the bytes of a URL. */
export function fetchBytes(
  server: TestServer,
  path: string,
  { as = 'ann', headers = {}, method = 'GET' }: { as?: string; headers?: Record<string, string>; method?: string } = {},
): Promise<Response> {
  return fetch(server.running.url + path, {
    method,
    headers: { ...(as !== 'nobody' && { authorization: `Bearer ${server.tokens.get(as)}` }), ...headers },
  });
}
