import type { ErrorCode, ErrorLabel } from '@tablinum/server/protocol';

/** What went wrong where the server was not reached, or answered something else than the contract says. */
export type ClientErrorCode = 'NETWORK' | 'REPLY_UNREADABLE' | 'STREAM_BROKEN';

/** The members of an error reply. */
export interface ErrorBody {
  readonly error: ErrorLabel;
  readonly message: string;
  readonly code: ErrorCode;
  /** Field, or place in the body such as `[3].title`, to what is wrong with it. */
  readonly details?: Readonly<Record<string, string>>;
  readonly requestId?: string;
  readonly retryAfter?: number;
}

/** What a failure is made of: an error reply, or what is known without one. */
export type FailureParts = Partial<Omit<ErrorBody, 'code'>> & {
  readonly code: ErrorCode | ClientErrorCode;
  readonly message: string;
};

/** A request that was refused, or did not arrive. After a refusal nothing has changed. */
export class Failure extends Error {
  /** The HTTP status; 0 where no reply came. */
  readonly status: number;
  readonly code: ErrorCode | ClientErrorCode;
  readonly label: ErrorLabel | null;
  readonly details: Readonly<Record<string, string>>;
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
    this.requestId = body.requestId ?? null;
    this.retryAfter = body.retryAfter ?? null;
  }

  /** The server was not reached: the network, or the server, is away. */
  get offline(): boolean {
    return this.code === 'NETWORK';
  }

  /** No reply of the server: the network is down, or a proxy answered in its place. */
  get unreachable(): boolean {
    return this.offline || (this.code === 'REPLY_UNREADABLE' && this.status >= 500);
  }

  /** Nobody knows whether it was done: no reply came, or one that is not the server's own and does not tell of a refusal. */
  get outcomeUnknown(): boolean {
    const isFromProxy = this.code === 'REPLY_UNREADABLE' && (this.status < 400 || this.status >= 500);
    return this.offline || isFromProxy;
  }
}

/** The failure that a reply tells of; its body may be anything that stands between server and client. */
export async function readFailure(response: Response): Promise<Failure> {
  const header = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(header) ? { retryAfter: header } : {};
  const text = await response.text().catch(() => '');
  const body = parseErrorBody(text);
  if (body) return new Failure(response.status, { ...retryAfter, ...body });
  return new Failure(response.status, {
    ...retryAfter,
    code: 'REPLY_UNREADABLE',
    message: `The reply (${response.status}) is not one of this server's; something between may have answered.`,
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
