/**
 * What the operations of mail take and give. They know no HTTP: http/mail-actions.ts makes a {@link MailRequest} of a request,
 * and a reply of a {@link MailResult}.
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
  /** Called by a plain path, where a get may give bytes instead of a record. */
  readonly isPlain: boolean;
  readonly context: RecordContext;
  /** The context of a later moment of the same call: the credential is checked again. */
  readonly contextNow: ContextProvider;
  readonly mail: MailStore;
  readonly body: unknown;
  readonly upload: MailUpload | null;
  /** The parameters, whatever they are called. */
  readonly parameters: () => BodyValues;
  /**
   * The parameters, for an operation that takes no others than these.
   *
   * @param allowsDryRun whether a write also takes `dryRun`, which {@link MailRequest.write} reads.
   * @throws ApiError `PARAMETER_UNKNOWN`
   */
  readonly knownParameters: (names: readonly string[], allowsDryRun?: boolean) => BodyValues;
  /** A get of records by the parameters of the call, or by others. */
  readonly recordRequest: (parameters?: BodyValues) => RecordRequest;
  /** The versions of the record that the caller wants to change; null for any version. */
  readonly ifMatch: () => IfMatch;
  /** Runs work in one transaction, in the way the call asks for: as part of a batch, as a dry run, or once for its key. */
  readonly write: (options: MailWriteOptions, work: (tx: TransactionContext) => Promise<MailData>) => Promise<MailData>;
  /** The result that is stored for the idempotency key of the call; null without one. */
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
  /** The version of one record; absent for other data. */
  readonly counter?: number;
  /** Set where the result is the stored one of an earlier call with the same idempotency key. */
  readonly replayed?: true;
}

/** Bytes whose number is known. */
export interface MailFile {
  readonly file: OpenBlob;
  readonly filename: string | null;
  /** A media type that a browser may show; null: none. */
  readonly inlineType: string | null;
  /** The media type of the download, where it is known. */
  readonly downloadType?: string;
  /** SHA-256 of the bytes, in hexadecimal digits. */
  readonly hash: string;
}

/** Bytes that are made while they are sent. */
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
 * @param known members that it may have; null: any.
 * @throws ApiError `BODY_INVALID`
 */
export function readBodyObject({ body, name }: MailRequest, known: readonly string[] | null): BodyValues {
  if (body === undefined || body === null) return {};
  if (!isObject(body)) throw new ApiError('BODY_INVALID', `${name} takes an object.`);
  const unknown = known && Object.keys(body).find((each) => !known.includes(each));
  if (unknown) throw new ApiError('BODY_INVALID', `${name} has no property "${unknown.slice(0, 60)}".`);
  return body;
}

/** The uploaded bytes. @throws ApiError `MEDIA_TYPE_UNSUPPORTED`, saying `cure`, for a call without an upload. */
export function requireUpload({ upload }: MailRequest, cure: string): MailUpload {
  if (upload) return upload;
  throw new ApiError('MEDIA_TYPE_UNSUPPORTED', cure);
}
