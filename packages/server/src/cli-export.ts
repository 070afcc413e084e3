/**
 * `tablinum export`: writes the records of a collection of a running server to a file or to the standard output, over
 * HTTP only. The file gets its final name when it is complete; a failed export leaves no file.
 */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { UsageError } from './cli-commands.ts';
import { parseExactJson } from './protocol/exact-json.ts';
import { exportFormats } from './protocol/export-request.ts';

const usage = `Use: tablinum export <collection> [--format csv|xlsx|json|ndjson] [--out <file>] [--filter <JSON>] [--search <text>]
     [--fields <names>] [--appends <names>] [--sort <names>] [--with-deleted] [--time-zone <zone>]
     [--header names|titles] [--delimiter <, ; | or tab>] [--bom] [--app <name>] [--url <address>] [--json]
Without --out, the file is written to the standard output. The default of --format is the extension of the file, or csv.
--json needs --out, and prints {"file", "format", "bytes"} to the standard output.
The credential is TABLINUM_TOKEN; the address is --url or TABLINUM_URL (http://127.0.0.1:4180).`;
const maxAttempts = 6;
const progressMilliseconds = 500;
/** Maximum length of the last line of NDJSON if it reports a failure. */
const maxTailLength = 4096;

const options = {
  format: { type: 'string' },
  out: { type: 'string' },
  filter: { type: 'string' },
  search: { type: 'string' },
  fields: { type: 'string' },
  appends: { type: 'string' },
  sort: { type: 'string' },
  'with-deleted': { type: 'boolean' },
  'time-zone': { type: 'string' },
  header: { type: 'string' },
  delimiter: { type: 'string' },
  bom: { type: 'boolean' },
  app: { type: 'string', default: 'main' },
  url: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>['values'];

/** Runs `tablinum export`. @throws Error with a message for the operator. */
export async function runExportCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: joinSortTerms(args), allowPositionals: true, options });
  const [collection, ...extraArgs] = positionals;
  const token = process.env['TABLINUM_TOKEN'];
  if (collection === undefined || extraArgs.length > 0 || !token) throw new UsageError(usage);
  if (values.json && values.out === undefined)
    throw new UsageError('--json needs --out: without --out, the exported records are written to the standard output.');
  const format = values.format ?? readExtension(values.out) ?? 'csv';
  if (format === 'xlsx' && values.out === undefined && process.stdout.isTTY)
    throw new Error('An XLSX file cannot be shown in a terminal. Name a file with --out.');
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const response = await request(collection, { ...values, format }, token, stopping.signal);
    const bytes = await save(response, values.out, stopping.signal);
    if (values.json) console.log(JSON.stringify({ file: values.out, format, bytes }, null, 2));
    console.error(
      `The export is complete: ${formatSize(bytes)}${values.out === undefined ? '' : ` in ${values.out}`}.`,
    );
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** `--sort -id` as `--sort=-id`: parseArgs takes no value that begins with a hyphen. */
function joinSortTerms(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args)
    if (joined.at(-1) === '--sort') joined[joined.length - 1] = `--sort=${arg}`;
    else joined.push(arg);
  return joined;
}

/** The format that the extension of the file names. */
function readExtension(file: string | undefined): string | undefined {
  const extension = extname(file ?? '')
    .slice(1)
    .toLowerCase();
  return exportFormats.find((each) => each === extension);
}

/** @throws Error for a refusal, with the message of the server. */
async function request(collection: string, values: Values, token: string, signal: AbortSignal): Promise<Response> {
  const url = values.url ?? process.env['TABLINUM_URL'] ?? 'http://127.0.0.1:4180';
  const zone = values['time-zone'];
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'x-app': values.app,
    ...(zone !== undefined && { 'x-timezone': zone }),
  };
  const body = JSON.stringify(buildParameters(values));
  for (let attempt = 1; ; attempt += 1) {
    const address = `${url.replace(/\/$/, '')}/api/${encodeURIComponent(collection)}:export`;
    const response = await fetch(address, { method: 'POST', headers, body, signal }).catch((error: Error) => {
      throw new Error(signal.aborted ? 'The export was stopped.' : `${url} cannot be reached: ${readCause(error)}`);
    });
    if (response.ok) return response;
    const wait = Number(response.headers.get('retry-after') ?? 0);
    const { message } = (await response.json().catch(() => ({}))) as { message?: string };
    if (wait === 0 || attempt === maxAttempts)
      throw new Error(`The server refused the request: ${message ?? `status ${response.status}`}`);
    await sleep(wait * 1000, undefined, { signal });
  }
}

function buildParameters(values: Values): Record<string, unknown> {
  const { format, filter, search, fields, appends, sort, header, delimiter, bom } = values;
  const isTable = format === 'csv' || format === 'xlsx';
  return {
    format,
    ...(filter !== undefined && { filter: parseFilter(filter) }),
    ...(search !== undefined && { search }),
    ...(fields !== undefined && { fields }),
    ...(appends !== undefined && { appends }),
    ...(sort !== undefined && { sort }),
    ...(values['with-deleted'] && { withDeleted: true }),
    ...(values['time-zone'] !== undefined && isTable && { localTimes: true }),
    ...(header !== undefined && { header }),
    ...(delimiter !== undefined && { delimiter }),
    ...(bom && { bom: true }),
  };
}

function parseFilter(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw new Error(`--filter is not JSON. Use for example --filter '{"status":"open"}'.`);
  }
}

/**
 * Writes the reply to the file, which gets its final name at the end.
 *
 * @returns the number of bytes.
 * @throws Error if the reply ends early.
 */
async function save(response: Response, out: string | undefined, signal: AbortSignal): Promise<number> {
  const partial = out === undefined ? null : `${out}.part`;
  const progress = new Progress();
  const target: Writable = partial === null ? process.stdout : createWriteStream(partial);
  try {
    const body = Readable.fromWeb(response.body as never);
    const watch = (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> => progress.watch(chunks);
    await pipeline(body, watch, target, { end: partial !== null, signal });
    const failure = readFailureLine(progress.tail, response);
    if (failure !== null) throw new Error(failure);
    if (partial !== null) await rename(partial, out!);
    return progress.bytes;
  } catch (error) {
    if (partial !== null) await rm(partial, { force: true });
    const reason = signal.aborted ? 'it was stopped' : readCause(error as Error).replace(/\.$/, '');
    throw new Error(`The export is incomplete: ${reason}.${partial === null ? '' : ' No file was written.'}`);
  } finally {
    progress.finish();
  }
}

/**
 * Reads the failure from an NDJSON reply that the server could not complete: its last line has the request id of the
 * reply.
 */
function readFailureLine(tail: string, { headers }: Response): string | null {
  if (!headers.get('content-type')?.startsWith('application/x-ndjson')) return null;
  const line = tail.trimEnd().split('\n').at(-1) ?? '';
  try {
    const { message, requestId } = JSON.parse(line) as { message?: string; requestId?: string };
    return requestId !== undefined && requestId === headers.get('x-request-id') ? (message ?? 'unknown') : null;
  } catch {
    return null;
  }
}

/** Counts the bytes that pass, and shows their number in a terminal. */
class Progress {
  bytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #shown = performance.now();

  /** The last characters. */
  get tail(): string {
    return this.#tail.toString();
  }

  async *watch(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.bytes += chunk.length;
      this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-maxTailLength);
      this.#show();
      yield chunk;
    }
  }

  #show(): void {
    if (!process.stderr.isTTY || performance.now() - this.#shown < progressMilliseconds) return;
    this.#shown = performance.now();
    process.stderr.write(`\r${formatSize(this.bytes)}`);
  }

  finish(): void {
    if (process.stderr.isTTY) process.stderr.write('\r');
  }
}

function formatSize(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function readCause(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
