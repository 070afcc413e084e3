/**
 * Requests and results of mail actions, independent of HTTP: http/mail-actions.ts converts a request to a {@link
 * MailRequest}, and a {@link MailResult} to a reply.
 */
import type { OpenBlob } from '../../base/blob-store.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import type { ContextProvider } from '../../records/read/stream-records.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import type { IfMatch } from '../../records/write/write-steps.ts';
import type { MailStore } from '../mail-store.ts';
import type { MailUpload } from '../store/import-mail.ts';

/** Parameters or members of a body, unchecked. */
export type BodyValues = Readonly<Record<string, unknown>>;

/** One call of an operation. */
export interface MailRequest {
  /** `<resource>:<action>`, for messages. */
  readonly name: string;
  /** Called by a plain path, with which a get can return bytes instead of a record. */
  readonly isPlain: boolean;
  readonly context: RecordContext;
  /** The context at a later time of the same request: the credential is checked again. */
  readonly contextNow: ContextProvider;
  readonly mail: MailStore;
  readonly body: unknown;
  readonly upload: MailUpload | null;
  /** The parameters, without a check of their names. */
  readonly parameters: () => BodyValues;
  /**
   * The parameters, for an action that accepts no others.
   *
   * @param allowsDryRun whether a write also accepts `dryRun`, which {@link MailRequest.write} reads.
   * @throws ApiError `PARAMETER_UNKNOWN`
   */
  readonly knownParameters: (names: readonly string[], allowsDryRun?: boolean) => BodyValues;
  /** Gets a record with the parameters of the request, or with others. */
  readonly recordRequest: (parameters?: BodyValues) => RecordRequest;
  /** The versions of the record that the caller wants to change; null for any version. */
  readonly ifMatch: () => IfMatch;
  /**
   * Runs work in one transaction, as the request requires: as part of a batch, as a dry run, or once for its
   * idempotency key.
   */
  readonly write: (options: MailWriteOptions, work: (tx: TransactionContext) => Promise<MailData>) => Promise<MailData>;
  /** The result that is stored for the idempotency key of the request; null if there is none. */
  readonly findStoredResult: () => Promise<MailData | null>;
}

/** How a write runs. */
export interface MailWriteOptions {
  /** Many rows: the write runs off the event loop. */
  readonly heavy?: boolean;
  readonly lockKey?: string | readonly string[];
}

/** JSON. */
export interface MailData {
  /** JSON text. */
  readonly data: string;
  readonly meta?: object;
  /** The version of one record; absent for other data. */
  readonly counter?: number;
  /** True if the result is that of an earlier request with the same idempotency key. */
  readonly replayed?: true;
}

/** Bytes whose number is known. */
export interface MailFile {
  readonly file: OpenBlob;
  readonly filename: string | null;
  /** A media type that a browser may show inline; null: none. */
  readonly inlineType: string | null;
  /** The media type of the download, if it is known. */
  readonly downloadType?: string;
  /** SHA-256 of the bytes, in hexadecimal digits. */
  readonly hash: string;
}

/** Bytes that are generated while they are sent. */
export interface MailStream {
  readonly stream: AsyncGenerator<Uint8Array>;
  readonly contentType: string;
  readonly filename: string;
}

/** What an operation gives. */
export type MailResult = MailData | MailFile | MailStream;

/**
 * The members of a body that is an object; none for an absent body.
 *
 * @param known allowed members; null: any.
 * @throws ApiError `BODY_INVALID`
 */
export function readBodyObject({ body, name }: MailRequest, known: readonly string[] | null): BodyValues {
  if (body === undefined || body === null) return {};
  if (!isObject(body)) throw new ApiError('BODY_INVALID', `The body of ${name} must be an object.`);
  const unknown = known && Object.keys(body).find((each) => !known.includes(each));
  if (unknown) throw new ApiError('BODY_INVALID', `${name} has no property "${unknown.slice(0, 60)}".`);
  return body;
}

/** The uploaded bytes. @throws ApiError `MEDIA_TYPE_UNSUPPORTED` with `cure`, for a request without an upload. */
export function requireUpload({ upload }: MailRequest, cure: string): MailUpload {
  if (upload) return upload;
  throw new ApiError('MEDIA_TYPE_UNSUPPORTED', cure);
}
