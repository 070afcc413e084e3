/**
 * A real S3-compatible server on loopback whose bucket is a folder, and whose faults a test controls. It checks
 * signatures.
 * It lacks two operations on multipart uploads, listing and aborting them, which are added here on its folder.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3SettingGroup } from '../../src/base/s3-config.ts';

/** The package has no type definitions. */
const S3rver: new (options: {
  directory: string;
  silent: boolean;
}) => {
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
} = createRequire(import.meta.url)('@20minutes/s3rver');

export const bucket = 'test-files';
const accessKeyId = 'S3RVER';
export const secretAccessKey = 'S3RVER';

/** A fault of a request: a status and a code of S3, a delay, or a closed connection. */
export type Fault = { readonly status: number; readonly code: string } | { readonly until: Promise<void> } | 'close';

export class S3Server {
  readonly folder = mkdtempSync(join(tmpdir(), 'tablinum-s3-'));
  /** Requests so far, such as `PUT /test-files/1/0/in-….` */
  readonly requests: string[] = [];
  /** The number of requests that wait because of a fault. */
  waiting = 0;
  /** Decides about each request; null: no fault. A test can replace it. */
  fault: (request: string) => Fault | null = () => null;
  readonly #handle: (request: IncomingMessage, response: ServerResponse) => void;
  #server: Server | null = null;
  #port = 0;

  private constructor() {
    mkdirSync(join(this.folder, bucket));
    this.#handle = new S3rver({ directory: this.folder, silent: true }).callback();
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    await server.listen();
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The settings of a server that uses the bucket. @param group the purpose of the bucket. */
  env(prefix = '', group: S3SettingGroup = 'FILES_S3'): Record<string, string> {
    return {
      [`${group}_ENDPOINT`]: this.endpoint,
      [`${group}_BUCKET`]: bucket,
      [`${group}_ACCESS_KEY_ID`]: accessKeyId,
      [`${group}_SECRET_ACCESS_KEY`]: secretAccessKey,
      ...(prefix && { [`${group}_PREFIX`]: prefix }),
    };
  }

  /** Starts the server, or starts it again on the same port. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#receive(request, response));
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Ends the server immediately, with its running requests. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = null;
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true });
  }

  /** The keys of all objects. */
  keys(): string[] {
    return this.#objectFiles()
      .map((path) => path.slice(0, -'._S3rver_object'.length))
      .sort();
  }

  /** The ids of incomplete uploads. */
  uploads(): string[] {
    const folder = join(this.folder, bucket, '._S3rver_uploads');
    return readFolder(folder);
  }

  /** Changes the time of an object, so that it seems older. */
  agesBy(key: string, milliseconds: number): void {
    const path = join(this.folder, bucket, `${key}._S3rver_object`);
    const time = new Date(statSync(path).mtimeMs - milliseconds);
    utimesSync(path, time, time);
  }

  #objectFiles(): string[] {
    return readdirSync(join(this.folder, bucket), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('._S3rver_object'),
    );
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const line = `${request.method} ${request.url}`;
    this.requests.push(line);
    const fault = this.fault(line);
    if (fault === 'close') return void request.socket.destroy();
    if (fault && 'until' in fault) {
      this.waiting += 1;
      await fault.until;
      this.waiting -= 1;
    } else if (fault) {
      request.resume();
      response.writeHead(fault.status, { 'content-type': 'application/xml' });
      return void response.end(`<Error><Code>${fault.code}</Code><Message>of ${secretAccessKey}</Message></Error>`);
    }
    const { searchParams } = new URL(request.url ?? '', this.endpoint);
    const uploadId = searchParams.get('uploadId');
    if (request.method === 'GET' && searchParams.has('uploads'))
      return this.#listUploads(response, searchParams.get('prefix') ?? '');
    if (request.method === 'DELETE' && uploadId) return this.#abort(response, uploadId);
    this.#handle(request, response);
  }

  #listUploads(response: ServerResponse, prefix: string): void {
    const uploads = this.uploads().flatMap((id) => {
      const folder = join(this.folder, bucket, '._S3rver_uploads', id);
      const key = readFileSync(join(folder, 'key'), 'utf8');
      if (!key.startsWith(prefix)) return [];
      const initiated = statSync(join(folder, 'key')).mtime.toISOString();
      return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated}</Initiated></Upload>`;
    });
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`,
    );
  }

  #abort(response: ServerResponse, uploadId: string): void {
    const folder = join(this.folder, bucket, '._S3rver_uploads', uploadId);
    rmSync(folder, { recursive: true, force: true });
    response.writeHead(204).end();
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
