/**
 * Loads a folder of JSON arrays into collections, over HTTP only.
 *
 *     npm run load-json -- --dir FOLDER --definitions FILE.json --url http://127.0.0.1:4180 --email you@example.com
 *
 * The definitions file is a list as `collections:apply` takes it, in the order of loading: records come after those
 * that they name. Joins (`through`) are loaded last. Existing records are left unchanged. The credential is
 * TABLINUM_TOKEN, or `--email` with TABLINUM_PASSWORD.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface Definition {
  readonly name: string;
  readonly fields: readonly { readonly through?: string }[];
}

const { values: options } = parseArgs({
  options: {
    dir: { type: 'string' },
    definitions: { type: 'string' },
    url: { type: 'string', default: 'http://127.0.0.1:4180' },
    app: { type: 'string', default: 'main' },
    email: { type: 'string' },
  },
});
const batch = 1000;
let token = process.env['TABLINUM_TOKEN'] ?? '';

async function call(path: string, body?: unknown): Promise<{ status: number; reply: Record<string, unknown> }> {
  const response = await fetch(`${options.url}/api/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-app': options.app,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, reply: (await response.json()) as Record<string, unknown> };
}

async function wanted(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const { status, reply } = await call(path, body);
  if (status !== 200) fail(`${path}: ${status} ${JSON.stringify(reply)}`);
  return reply;
}

async function signIn(email: string): Promise<string> {
  const reply = await wanted('auth:signIn', { email, password: process.env['TABLINUM_PASSWORD'] ?? '' });
  return (reply['data'] as { token: string }).token;
}

/** Applies the definitions to the collections; other existing definitions stay. */
async function define(): Promise<void> {
  const reply = await wanted('collections:apply', definitions);
  const { changes } = reply['meta'] as { changes: { name: string; tk: string }[] };
  for (const { name, tk } of changes) console.log(`${name} ${tk}`);
  if (changes.length === 0) console.log('the collections are there already');
}

async function load(name: string): Promise<void> {
  const { meta } = (await wanted(`${name}:list?pageSize=1`)) as { meta: { count: number } };
  const records = JSON.parse(readFileSync(join(options.dir!, `${name}.json`), 'utf8')) as unknown[];
  if (meta.count > 0) return console.log(`${name}: holds ${meta.count} of ${records.length} records, left as they are`);
  const from = performance.now();
  for (let at = 0; at < records.length; at += batch) await wanted(`${name}:create`, records.slice(at, at + batch));
  const perSecond = Math.round(records.length / ((performance.now() - from) / 1000));
  console.log(`${name}: ${records.length} records, ${perSecond}/s`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

if (!options.dir || !options.definitions) fail('Give --dir FOLDER and --definitions FILE.json.');
if (!token && !options.email) fail('Set TABLINUM_TOKEN, or give --email and set TABLINUM_PASSWORD.');
if (!token) token = await signIn(options.email!);
const definitions = JSON.parse(readFileSync(options.definitions, 'utf8')) as Definition[];
await define();
for (const { name } of definitions) await load(name);
for (const join of new Set(definitions.flatMap(({ fields }) => fields.flatMap((field) => field.through ?? []))))
  await load(join);
