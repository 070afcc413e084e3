/** Reads multipart/form-data bodies (RFC 7578) while they arrive: parts one after the other, files as streams. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';

/** A file of a body. Its bytes must be read before the next part arrives. */
export interface FilePart {
  /** The name of the form field. */
  readonly field: string;
  /** As the client sent it. */
  readonly filename: string | null;
  readonly contentType: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** What is done with the parts of a body. */
export interface PartHandlers {
  onFile(part: FilePart): Promise<void>;
  /** A part that is no file. */
  onText(field: string, text: string): void;
}

/** The maximum bytes of one file and of a whole body. */
export interface UploadLimits {
  readonly fileBytes: number;
  readonly requestBytes: number;
}

export interface MultipartBody {
  readonly bytes: Readable;
  /** The header Content-Type with its boundary. */
  readonly contentType: string;
}

/**
 * Reads a body to its end.
 *
 * @throws ApiError 400 for a malformed or incomplete body, 413 over a limit, and what the handlers throw.
 */
export async function readMultipart(
  body: MultipartBody,
  uploadLimits: UploadLimits,
  handlers: PartHandlers,
): Promise<void> {
  const reader = new MultipartReader(body.contentType, uploadLimits, handlers);
  await reader.read(body.bytes);
}

class MultipartReader {
  readonly #parser: BusboyInstance;
  readonly #limits: UploadLimits;
  readonly #handlers: PartHandlers;
  readonly #failed = Promise.withResolvers<never>();
  /** Files whose bytes are arriving, or wait to be handled. */
  readonly #open = new Set<BusboyFileStream>();
  #handled: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(contentType: string, uploadLimits: UploadLimits, handlers: PartHandlers) {
    this.#limits = uploadLimits;
    this.#handlers = handlers;
    this.#failed.promise.catch(() => {});
    this.#parser = createParser(contentType, uploadLimits);
    this.#parser.on('error', () => this.#fail(malformedError()));
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      this.#parser.on(event, () =>
        this.#fail(new ApiError('LIMIT_EXCEEDED', `An upload has at most ${limits.uploadParts} parts.`)),
      );
    this.#parser.on('field', (field: string | undefined, text, _, isTruncated) => {
      if (isTruncated) this.#fail(tooLarge('A part that is not a file', limits.uploadFieldBytes));
      else if (field === undefined) this.#fail(unnamedError());
      else this.#handle(async () => handlers.onText(field, text));
    });
    this.#parser.on('file', (field: string | undefined, bytes, ...[filename, , contentType]) => {
      bytes.on('error', () => {}); // the handler receives the error; without a handler, it is ignored
      if (field === undefined) this.#fail(unnamedError());
      if (field === undefined || this.#hasFailed) bytes.resume();
      else this.#handleFile({ field, filename: (filename as string | undefined) ?? null, contentType }, bytes);
    });
  }

  async read(bytes: AsyncIterable<Buffer>): Promise<void> {
    const { promise: failed } = this.#failed;
    const finished = once(this.#parser, 'finish');
    finished.catch(() => {});
    const end = performance.now() + limits.uploadMilliseconds;
    let size = 0;
    try {
      for await (const piece of bytes) {
        if (performance.now() > end) throw tooSlow();
        size += piece.length;
        if (size > this.#limits.requestBytes) throw tooLarge('An upload', this.#limits.requestBytes);
        const isReady = this.#parser.write(piece);
        if (this.#hasFailed) await failed;
        if (!isReady) await Promise.race([once(this.#parser, 'drain'), failed]);
      }
      this.#parser.end();
      await Promise.race([finished, failed]);
      await this.#handled;
      if (this.#hasFailed) await failed;
    } catch (error) {
      // Any error other than an ApiError means that the connection or the parser has failed.
      this.#fail(error instanceof ApiError ? error : malformedError());
      await this.#handled;
      await failed;
    }
  }

  #handleFile(part: Omit<FilePart, 'bytes'>, bytes: BusboyFileStream): void {
    this.#open.add(bytes);
    this.#handle(async () => {
      await this.#handlers.onFile({ ...part, bytes: this.#readFile(bytes) });
      this.#open.delete(bytes);
    });
  }

  /** Handles parts one after the other. */
  #handle(work: () => Promise<void>): void {
    this.#handled = this.#handled
      .then(() => (this.#hasFailed ? undefined : work()))
      .catch((error: unknown) => this.#fail(error));
  }

  async *#readFile(bytes: BusboyFileStream): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) yield piece as Buffer;
    if (bytes.truncated) throw tooLarge('A file', this.#limits.fileBytes);
  }

  /** Ends the reading of open files too, so that what is stored of them is removed. */
  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#failed.reject(error);
    for (const each of this.#open) each.destroy(new Error('the upload has failed'));
  }
}

function createParser(contentType: string, { fileBytes }: UploadLimits): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        fileSize: fileBytes,
        fieldSize: limits.uploadFieldBytes,
        parts: limits.uploadParts,
        headerPairs: 20,
        headerSize: limits.partHeaderBytes,
      },
    });
  } catch {
    throw malformedError();
  }
}

function malformedError(): ApiError {
  return new ApiError(
    'BODY_INVALID',
    'The body is not complete multipart/form-data with the boundary of its Content-Type.',
  );
}

function unnamedError(): ApiError {
  return new ApiError('BODY_INVALID', 'Each part of the upload needs a name in its Content-Disposition.');
}

function tooSlow(): ApiError {
  return new ApiError(
    'BODY_INVALID',
    `An upload may take at most ${limits.uploadMilliseconds / 3_600_000} hours. Send fewer files in one request.`,
  );
}

function tooLarge(what: string, maxBytes: number): ApiError {
  return new ApiError('BODY_TOO_LARGE', `${what} may have at most ${maxBytes} bytes.`);
}
