import type { ErrorCode, ErrorLabel } from '@tablinum/server/protocol';
import type { RowError } from './import-parameters.ts';

/** Error codes of the client itself, for when the server was not reached or the reply is not readable. */
export type ClientErrorCode = 'NETWORK' | 'REPLY_UNREADABLE' | 'STREAM_BROKEN';

/** The members of an error reply. */
export interface ErrorBody {
  readonly error: ErrorLabel;
  readonly message: string;
  readonly code: ErrorCode;
  /** What is wrong, by field or path in the body, such as `[3].title`. */
  readonly details?: Readonly<Record<string, string>>;
  /** Of an import: the rows that are refused. */
  readonly errors?: readonly RowError[];
  readonly requestId?: string;
  readonly retryAfter?: number;
}

/** The properties of a failure: an error reply, or what is known without one. */
export type FailureParts = Partial<Omit<ErrorBody, 'code'>> & {
  readonly code: ErrorCode | ClientErrorCode;
  readonly message: string;
};

/** A request that was refused or did not arrive. A refused request has changed nothing. */
export class Failure extends Error {
  /** The HTTP status; 0 without a reply. */
  readonly status: number;
  readonly code: ErrorCode | ClientErrorCode;
  readonly label: ErrorLabel | null;
  readonly details: Readonly<Record<string, string>>;
  /** Of an import: the rows that are refused. */
  readonly rows: readonly RowError[];
  readonly requestId: string | null;
  /** Seconds after which a retry makes sense, or null. */
  readonly retryAfter: number | null;

  constructor(status: number, body: FailureParts) {
    super(body.message);
    this.name = 'Failure';
    this.status = status;
    this.code = body.code;
    this.label = body.error ?? null;
    this.details = body.details ?? {};
    this.rows = body.errors ?? [];
    this.requestId = body.requestId ?? null;
    this.retryAfter = body.retryAfter ?? null;
  }

  /** The server could not be reached. */
  get offline(): boolean {
    return this.code === 'NETWORK';
  }

  /** The server did not reply: it could not be reached, or a proxy answered instead. */
  get unreachable(): boolean {
    return this.offline || (this.code === 'REPLY_UNREADABLE' && this.status >= 500);
  }

  /** Whether the request was executed is unknown: no reply came, or a proxy answered without refusing the request. */
  get outcomeUnknown(): boolean {
    const isFromProxy = this.code === 'REPLY_UNREADABLE' && (this.status < 400 || this.status >= 500);
    return this.offline || isFromProxy;
  }
}

/** The failure in a reply. Its body may come from a proxy and have any form. */
export async function readFailure(response: Response): Promise<Failure> {
  const header = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(header) ? { retryAfter: header } : {};
  const text = await response.text().catch(() => '');
  const body = parseErrorBody(text);
  if (body) return new Failure(response.status, { ...retryAfter, ...body });
  return new Failure(response.status, {
    ...retryAfter,
    code: 'REPLY_UNREADABLE',
    message: `The reply (${response.status}) does not come from the server; a proxy may have answered instead.`,
  });
}

function parseErrorBody(text: string): ErrorBody | null {
  try {
    const body: unknown = JSON.parse(text);
    const isErrorBody = typeof body === 'object' && body !== null && 'code' in body && 'message' in body;
    return isErrorBody ? (body as ErrorBody) : null;
  } catch {
    return null;
  }
}
