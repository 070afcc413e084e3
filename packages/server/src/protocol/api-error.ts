import { type ErrorCode, type ErrorLabel, errorCatalogue } from './error-catalogue.ts';

export type ErrorDetails = Readonly<Record<string, string>>;

/** A limit by name: a number of points in a number of seconds. */
export interface RateReached {
  readonly policy: string;
  readonly points: number;
  readonly seconds: number;
}

/** A problem of a row of a file. */
export interface RowProblem {
  /** The name of the column and of the field; null: the whole row. */
  readonly column: string | null;
  readonly field: string | null;
  readonly value: string | null;
  readonly reason: string;
}

/** Why a row of a file is refused. */
export interface RowError extends RowProblem {
  /** `[line 7].price` */
  readonly path: string;
  readonly line: number;
  /** Further problems of the row. */
  readonly others: readonly RowProblem[];
}

/**
 * An error that the caller may read: message and details contain no SQL, file path, stack trace or data that the caller
 * may not read.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;
  /** Seconds after which a retry makes sense; sent as Retry-After. */
  readonly retryAfter: number | undefined;
  /** The limit that was reached; sent as RateLimit and RateLimit-Policy. */
  readonly rate: RateReached | undefined;
  /** Methods that the route supports; sent as Allow. */
  readonly allow: string | undefined;
  /**
   * The account or key that the error is about (`user:3`, `apiKey:7`). Only for the audit journal: it is never sent.
   */
  readonly about: string | undefined;
  /** The rows of a file that the error is about; sent as `errors`. */
  readonly rows: readonly RowError[] | undefined;
  /** Something was written before the error, so the request is not repeated under newer definitions. */
  isFinal = false;

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      details?: ErrorDetails;
      retryAfter?: number;
      allow?: string;
      about?: string;
      rate?: RateReached;
      rows?: readonly RowError[];
    } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.details = more.details;
    this.retryAfter = more.retryAfter;
    this.allow = more.allow;
    this.about = more.about;
    this.rate = more.rate;
    this.rows = more.rows;
  }

  get label(): ErrorLabel {
    return errorCatalogue[this.code].label;
  }
}

/** 400 for a parameter that is true or false. */
export function booleanExpected(name: string): ApiError {
  return new ApiError('PARAMETER_INVALID', `"${name}" must be true or false.`);
}

/** 422 with a message for each field. */
export function invalidValues(details: ErrorDetails): ApiError {
  return new ApiError('VALUE_INVALID', `Some values are invalid.  ${summary(details)}`, { details });
}

/** 422 for a definition: a collection, field, role, permission or key. */
export function invalidDefinition(details: ErrorDetails): ApiError {
  return new ApiError('DEFINITION_INVALID', `The definition is invalid.  ${summary(details)}`, { details });
}

function summary(details: ErrorDetails): string {
  const names = Object.keys(details);
  const [first] = names;
  const more = names.length > 1 ? ` (and ${names.length - 1} more, see details)` : '';
  return first === undefined ? 'see details.' : `${first}: ${details[first]}${more}`;
}
