/**
 * `tablinum import`: sends a file to a running server, over HTTP only, and reports what was written. The file is streamed, so its
 * size does not matter here. Up to 1,000 rows are imported with the reply; more rows are a job, which is watched until it ends.
 */
import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { UsageError } from './cli-commands.ts';
import { ImportProgressBar } from './cli-import-progress.ts';
import { formatRowErrors, type RefusedLine } from './cli-import-table.ts';

const usage = `Use: tablinum import <file or -> --collection <name> [--mode create|update|upsert] [--match <fields>] [--dry-run]
     [--mapping <file.json>] [--ignore-unknown] [--add-options] [--skip-invalid] [--refused <file.csv or .xlsx>]
     [--format csv|xlsx|json|ndjson] [--encoding <name>] [--delimiter <, ; | or tab>] [--header true|false]
     [--sheet <name or index>] [--time-zone <zone>] [--app <name>] [--url <address>] [--json]
"-" reads the standard input. The file of --mapping contains [{"column": "E-mail", "field": "email"}, …].
With --json, the report is printed to the standard output as JSON. Messages are always printed to the standard error.
The credential is TABLINUM_TOKEN; the address is --url or TABLINUM_URL (http://127.0.0.1:4180).
Exit codes: 0 everything was imported; 1 the import failed or was cancelled; 2 wrong usage; 3 rows were refused.`;
const maxAttempts = 6;
const pollMilliseconds = 500;

export const exitCodes = { done: 0, failed: 1, usage: 2, refused: 3 } as const;

const options = {
  collection: { type: 'string' },
  mode: { type: 'string' },
  match: { type: 'string' },
  'dry-run': { type: 'boolean' },
  mapping: { type: 'string' },
  'ignore-unknown': { type: 'boolean' },
  'add-options': { type: 'boolean' },
  'skip-invalid': { type: 'boolean' },
  refused: { type: 'string' },
  format: { type: 'string' },
  encoding: { type: 'string' },
  delimiter: { type: 'string' },
  header: { type: 'string' },
  sheet: { type: 'string' },
  'time-zone': { type: 'string' },
  app: { type: 'string', default: 'main' },
  url: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>['values'];

/** The record of an import, as far as it is used here. */
interface ImportRecord {
  readonly id: number;
  readonly status: 'pending' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly rows: number | null;
  readonly processed: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  readonly error: string | null;
}

interface DryRunReport {
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  readonly errors: readonly RefusedLine[];
}

/** A refusal of the server. */
class Refusal extends Error {
  readonly rows: readonly RefusedLine[];

  constructor(message: string, rows: readonly RefusedLine[]) {
    super(message);
    this.rows = rows;
  }
}

/** Runs `tablinum import`. @returns the exit code. @throws Error with a message for the operator. */
export async function runImportCommand(args: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await new ImportRun(parseArguments(args), stopping.signal).run();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    return exitCodes.usage;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

interface ImportArguments {
  readonly file: string;
  readonly collection: string;
  readonly token: string;
  readonly values: Values;
  readonly request: Readonly<Record<string, unknown>>;
}

/** @throws UsageError */
function parseArguments(args: readonly string[]): ImportArguments {
  const { values, positionals } = tryParse(args);
  const [file, ...extraArgs] = positionals;
  const token = process.env['TABLINUM_TOKEN'];
  const { collection } = values;
  if (file === undefined || collection === undefined || extraArgs.length > 0 || !token) throw new UsageError(usage);
  if (file !== '-' && !statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new UsageError(`The file "${file}" does not exist, or is not a file.`);
  if (values.refused !== undefined && !/\.(?:csv|xlsx)$/i.test(values.refused))
    throw new UsageError('The name of the file of --refused must end with .csv or .xlsx.');
  return { file, collection, token, values, request: buildOptions(values) };
}

function tryParse(
  args: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`);
  }
}

function buildOptions(values: Values): Record<string, unknown> {
  const { mode, match, mapping, format, encoding, delimiter, header, sheet } = values;
  return {
    ...(mode !== undefined && { mode }),
    ...(match !== undefined && { matchFields: match.split(',').map((name) => name.trim()) }),
    ...(mapping !== undefined && { mapping: readMapping(mapping) }),
    ...(values['dry-run'] && { dryRun: true }),
    ...(values['ignore-unknown'] && { ignoreUnknown: true }),
    ...(values['add-options'] && { addOptions: true }),
    ...(values['skip-invalid'] && { skipInvalid: true }),
    ...(format !== undefined && { format }),
    ...(encoding !== undefined && { encoding }),
    ...(delimiter !== undefined && { delimiter }),
    ...(header !== undefined && { header: parseHeader(header) }),
    ...(sheet !== undefined && { sheet: /^\d+$/.test(sheet) ? Number(sheet) : sheet }),
  };
}

function parseHeader(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new UsageError('--header must be true or false.');
  return text === 'true';
}

function readMapping(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`The file of --mapping cannot be used: ${(error as Error).message}`);
  }
}

class ImportRun {
  readonly #arguments: ImportArguments;
  readonly #signal: AbortSignal;
  readonly #progress = new ImportProgressBar();
  /** Whether the server may have received the complete file. */
  #hasSent = false;

  constructor(given: ImportArguments, signal: AbortSignal) {
    this.#arguments = given;
    this.#signal = signal;
  }

  async run(): Promise<number> {
    try {
      const data = await this.#send();
      this.#progress.finish();
      if (this.#arguments.values['dry-run']) {
        this.#printJson(data);
        return reportDryRun(data as DryRunReport);
      }
      return await this.#finish(await this.#watch(data as ImportRecord));
    } catch (error) {
      this.#progress.finish();
      if (!(error instanceof Refusal)) throw error;
      if (error.rows.length > 0) {
        this.#printJson({ errors: error.rows });
        console.error(formatRowErrors(error.rows, error.rows.length));
      }
      throw new Error(`The server refused the import: ${error.message}`);
    }
  }

  #printJson(report: unknown): void {
    if (this.#arguments.values.json) console.log(JSON.stringify(report, null, 2));
  }

  /** Sends the file. @returns the record of the import, or the report of a dry run. */
  async #send(): Promise<unknown> {
    const { file, collection } = this.#arguments;
    for (let attempt = 1; ; attempt += 1) {
      this.#hasSent = false;
      const response = await this.#upload(`${encodeURIComponent(collection)}:import`).catch(this.#throwStopped);
      const wait = Number(response.headers.get('retry-after') ?? 0);
      // What has been read from the standard input cannot be sent again.
      if (response.ok || wait === 0 || file === '-' || attempt === maxAttempts) return readData(response);
      await response.body?.cancel();
      this.#hasSent = false;
      await this.#pause(wait * 1000).catch(this.#throwStopped);
    }
  }

  readonly #throwStopped = (error: unknown): never => {
    if (!this.#signal.aborted) throw error;
    throw new Error(
      this.#hasSent
        ? 'The import was stopped while the server worked on it, so rows may have been written. GET /api/imports shows them.'
        : 'The import was stopped before the file had arrived. Nothing was written.',
    );
  };

  #upload(action: string): Promise<Response> {
    const { file, request } = this.#arguments;
    const boundary = `tablinum-${crypto.randomUUID()}`;
    const part = (head: string): Buffer =>
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`);
    const name = file === '-' ? 'standard-input' : basename(file).replaceAll(/["\r\n\\]/g, '_');
    const head = Buffer.concat([
      part('name="options"\r\nContent-Type: application/json'),
      Buffer.from(`${JSON.stringify(request)}\r\n`),
      part(`name="file"; filename="${name}"\r\nContent-Type: application/octet-stream`),
    ]);
    const bytes: AsyncIterable<Buffer> = file === '-' ? process.stdin : createReadStream(file);
    const size = file === '-' ? null : statSync(file).size;
    const progress = this.#progress;
    const setSent = (): void => {
      this.#hasSent = true;
    };
    const body = Readable.from(
      (async function* () {
        yield head;
        yield* progress.watchUpload(bytes, size);
        setSent();
        yield Buffer.from(`\r\n--${boundary}--\r\n`);
      })(),
    );
    return this.#fetch('POST', action, {
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: Readable.toWeb(body) as never,
      duplex: 'half',
    });
  }

  /** Waits for the end of a job. Ctrl+C cancels it. */
  async #watch(started: ImportRecord): Promise<ImportRecord> {
    let record = started;
    let isCancelled = false;
    while (record.status === 'pending' || record.status === 'running') {
      this.#progress.showRows(record.processed, record.rows);
      if (this.#signal.aborted && !isCancelled) {
        isCancelled = true;
        // The job may have ended at this moment.
        await this.#call('POST', `imports:cancel?filterByTk=${record.id}`).catch(() => null);
      }
      await (isCancelled ? sleep(pollMilliseconds) : this.#pause(pollMilliseconds).catch(() => {}));
      record = (await this.#call('GET', `imports:get?filterByTk=${record.id}`)) as ImportRecord;
    }
    this.#progress.finish();
    return record;
  }

  async #finish(record: ImportRecord): Promise<number> {
    const { values } = this.#arguments;
    const written = `${record.created} created, ${record.updated} updated, ${record.refused} refused`;
    this.#printJson(record);
    if (record.refused > 0 && values.refused !== undefined) await this.#saveRefused(record.id, values.refused);
    if (record.status === 'failed')
      throw new Error(`The import failed: ${record.error ?? 'the server gives no reason.'} Before that: ${written}.`);
    if (record.status === 'cancelled') throw new Error(`The import was cancelled. Before that: ${written}.`);
    console.error(`The import is complete: ${written}.`);
    if (record.refused === 0) return exitCodes.done;
    console.error(
      values.refused === undefined
        ? `Name a file with --refused to get the refused rows, or GET /api/imports:refusedRows?filterByTk=${record.id}&format=csv.`
        : `The refused rows are in ${values.refused}, with the reasons. Correct them there, and import that file.`,
    );
    return exitCodes.refused;
  }

  /** The file gets its final name when it is complete. */
  async #saveRefused(id: number, file: string): Promise<void> {
    const format = extname(file).slice(1).toLowerCase();
    const response = await this.#fetch('GET', `imports:refusedRows?filterByTk=${id}&format=${format}`, {}, null);
    if (!response.ok || !response.body) throw await readRefusal(response);
    try {
      await pipeline(Readable.fromWeb(response.body as never), createWriteStream(`${file}.part`));
      await rename(`${file}.part`, file);
    } finally {
      await rm(`${file}.part`, { force: true });
    }
  }

  /** A short request, repeated while the server is busy. It is also sent after Ctrl+C. */
  async #call(method: string, action: string): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#fetch(method, action, {}, null);
      const wait = Number(response.headers.get('retry-after') ?? 0);
      if (response.ok || wait === 0 || attempt === maxAttempts) return readData(response);
      await sleep(wait * 1000);
    }
  }

  async #fetch(
    method: string,
    action: string,
    { headers, ...init }: RequestInit & { duplex?: 'half' },
    signal: AbortSignal | null = this.#signal,
  ): Promise<Response> {
    const { values, token } = this.#arguments;
    const url = (values.url ?? process.env['TABLINUM_URL'] ?? 'http://127.0.0.1:4180').replace(/\/$/, '');
    const zone = values['time-zone'];
    const allHeaders = {
      authorization: `Bearer ${token}`,
      'x-app': values.app,
      ...(zone !== undefined && { 'x-timezone': zone }),
      ...(headers as Record<string, string> | undefined),
    };
    return fetch(`${url}/api/${action}`, { method, headers: allHeaders, signal, ...init }).catch((error: Error) => {
      throw new Error(
        `${url} cannot be reached: ${error.cause instanceof Error ? error.cause.message : error.message}`,
      );
    });
  }

  #pause(milliseconds: number): Promise<void> {
    return sleep(milliseconds, undefined, { signal: this.#signal });
  }
}

function reportDryRun({ rows, created, updated, refused, errors }: DryRunReport): number {
  if (errors.length > 0) console.error(formatRowErrors(errors, refused));
  console.error(
    `Dry run, nothing was written: of ${rows} rows, ${created} would be created, ${updated} updated and ${refused} refused.`,
  );
  return refused > 0 ? exitCodes.refused : exitCodes.done;
}

/** @throws Refusal */
async function readData(response: Response): Promise<unknown> {
  if (!response.ok) throw await readRefusal(response);
  return ((await response.json()) as { data: unknown }).data;
}

async function readRefusal(response: Response): Promise<Refusal> {
  const { message, errors } = (await response.json().catch(() => ({}))) as {
    message?: string;
    errors?: readonly RefusedLine[];
  };
  return new Refusal(message ?? `status ${response.status}`, errors ?? []);
}
