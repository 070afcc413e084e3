/** The labels of the specification, which stand in `error` of a reply. http/ maps each to a status. */
export type ErrorLabel =
  | 'Bad Request'
  | 'Unauthorized'
  | 'Forbidden'
  | 'No permissions'
  | 'Not Found'
  | 'Method Not Allowed'
  | 'Conflict'
  | 'Precondition Failed'
  | 'Payload Too Large'
  | 'Expectation Failed'
  | 'Unsupported Media Type'
  | 'Validation Error'
  | 'Too Many Requests'
  | 'Headers Too Large'
  | 'Internal Server Error'
  | 'Service Unavailable';

export interface ErrorEntry {
  readonly label: ErrorLabel;
  /** When the error occurs and what the client can do. docs/errors.md has the same text. */
  readonly when: string;
}

const entry = (label: ErrorLabel, when: string): ErrorEntry => ({ label, when });

/** Every error of the API by its `code`, which never changes. A test compares the catalogue with docs/errors.md. */
export const errorCatalogue = {
  BODY_INVALID: entry(
    'Bad Request',
    'The body is not JSON in UTF-8, contains a forbidden key, or does not have the form that the action expects.',
  ),
  PARAMETER_UNKNOWN: entry('Bad Request', 'The action has no query parameter of that name.'),
  PARAMETER_INVALID: entry(
    'Bad Request',
    'A query parameter is malformed, out of range, or given twice with different values.',
  ),
  FIELD_UNKNOWN: entry('Bad Request', 'A field named in the request does not exist in the collection.'),
  RELATION_UNKNOWN: entry('Bad Request', 'A path or an entry of `appends` names a field that is not a relation.'),
  OPERATOR_UNKNOWN: entry('Bad Request', 'A filter operator does not exist.'),
  OPERATOR_MISFIT: entry('Bad Request', 'A filter operator does not fit the type of its field.'),
  FILTER_INVALID: entry('Bad Request', 'A filter does not follow the grammar, or contains a value of the wrong type.'),
  LIMIT_EXCEEDED: entry(
    'Bad Request',
    'The request exceeds a limit: depth, conditions, relations or values of its query or JSON, rows, or reply size. The message names the limit.',
  ),
  SORT_INVALID: entry('Bad Request', 'A term of `sort` names a field that cannot be sorted.'),
  CURSOR_INVALID: entry(
    'Bad Request',
    'The cursor in `after` or `since` is malformed, or belongs to another sort, filter or role.',
  ),
  TARGET_MISSING: entry('Bad Request', 'The action needs `filterByTk` or a filter that is not empty.'),
  REFERENCE_MISSING: entry(
    'Bad Request',
    'A foreign key refers to a record that does not exist or that the caller may not see.',
  ),
  LINK_INVALID: entry(
    'Bad Request',
    'A link to set a password or to create the first admin is unknown, used or expired. Request a new one.',
  ),
  HEADER_INVALID: entry('Bad Request', 'A header is malformed or given twice.'),
  TOKEN_MISSING: entry('Unauthorized', 'The action is not public, and the request has no Authorization header.'),
  TOKEN_INVALID: entry(
    'Unauthorized',
    'The credential is malformed, unknown, revoked, or was signed with another APP_KEY.',
  ),
  TOKEN_EXPIRED: entry('Unauthorized', 'The API key or the login has expired. Create a new one.'),
  SIGN_IN_FAILED: entry(
    'Unauthorized',
    'The user is unknown or suspended, or the password is wrong. The error does not tell which.',
  ),
  SESSION_NEEDED: entry('Forbidden', 'The action requires a signed-in user; an API key cannot do it.'),
  SIGN_UP_CLOSED: entry('Forbidden', 'Sign-up is not enabled for this application (`ALLOW_SIGN_UP`).'),
  APPLICATION_MISMATCH: entry('Forbidden', 'The key belongs to another application than the one that X-App names.'),
  FIELD_DENIED: entry('Forbidden', 'The request names a field that the role may not read or write.'),
  SYSTEM_PROTECTED: entry(
    'Forbidden',
    'The request would change a system collection, a core field, a built-in role or the last admin.',
  ),
  ROLE_NOT_HELD: entry(
    'Forbidden',
    'The caller does not have the role that X-Role names, or that a new key should have.',
  ),
  NO_PERMISSION: entry(
    'No permissions',
    'The role does not allow the action on the resource, or the record is outside its row filter.',
  ),
  ROUTE_UNKNOWN: entry('Not Found', 'The route, the resource or the action does not exist.'),
  COLLECTION_UNKNOWN: entry('Not Found', 'No collection has that name.'),
  RECORD_UNKNOWN: entry('Not Found', 'No record has that key, or none matches the filter.'),
  IMAGE_UNAVAILABLE: entry('Not Found', 'A remote image of a message cannot be fetched, or is not an image.'),
  APPLICATION_UNKNOWN: entry('Not Found', 'No application has the name in X-App.'),
  METHOD_NOT_ALLOWED: entry(
    'Method Not Allowed',
    'The action does not support this method. The Allow header lists those that it supports.',
  ),
  UNIQUE_CONFLICT: entry('Conflict', 'Another record already has the value of a unique field.'),
  KEYS_EXHAUSTED: entry(
    'Conflict',
    'The collection has no generated key left. Records can still be created with an explicit, free key.',
  ),
  COLLECTION_EXISTS: entry('Conflict', 'A collection with that name already exists.'),
  APPLICATION_EXISTS: entry('Conflict', 'An application with that name already exists.'),
  FIELD_EXISTS: entry('Conflict', 'The collection already has a field with that name.'),
  PERMISSION_EXISTS: entry('Conflict', 'The role already has a permission for that resource and action.'),
  DATA_WOULD_BE_LOST: entry(
    'Conflict',
    'Switching off an option of a collection would delete records, values or history. Send `force=true` to accept this.',
  ),
  DEPENDANTS_EXIST: entry(
    'Conflict',
    'Other collections, records, users or keys depend on what would be deleted or changed.',
  ),
  KEY_ENDED: entry(
    'Conflict',
    'The API key has expired or already has a successor. Rotate the successor, or create a new key.',
  ),
  MAIL_QUEUED: entry(
    'Conflict',
    'The e-mail is waiting to be sent or is being sent. Call it back with `emails:cancelSend`.',
  ),
  MAIL_NOT_QUEUED: entry(
    'Conflict',
    'The e-mail is not waiting to be sent: it was never queued, or is already being sent.',
  ),
  RETHREAD_RUNNING: entry(
    'Conflict',
    'The conversations of the account are already being rebuilt. Wait until that has finished.',
  ),
  REQUEST_RUNNING: entry(
    'Conflict',
    'A request with the same Idempotency-Key is still running. Wait until it has finished, then repeat the request.',
  ),
  REPLY_NOT_KEPT: entry(
    'Conflict',
    'A request with the same Idempotency-Key was started, and its reply is not available. Check the data before you repeat it with a new key.',
  ),
  VERSION_STALE: entry(
    'Precondition Failed',
    'If-Match names another version of the record. Nothing was written; read the record again.',
  ),
  BODY_TOO_LARGE: entry(
    'Payload Too Large',
    'The body is larger than 10 MiB, or than 64 KiB without a verified credential.',
  ),
  EXPECTATION_FAILED: entry('Expectation Failed', 'The Expect header is not `100-continue`. Remove it.'),
  MEDIA_TYPE_UNSUPPORTED: entry(
    'Unsupported Media Type',
    'The body is not application/json in UTF-8, or is compressed.',
  ),
  VALUE_INVALID: entry(
    'Validation Error',
    'One or more values are not valid for their fields. `details` names each of them.',
  ),
  IDEMPOTENCY_KEY_REUSED: entry(
    'Validation Error',
    'The Idempotency-Key was used for another request. Use a new key for each request.',
  ),
  PASSWORD_WRONG: entry('Validation Error', 'The old password is wrong. Nothing was changed.'),
  DEFINITION_INVALID: entry(
    'Validation Error',
    'A definition of a collection, field, role, permission or key is not valid. `details` names each problem.',
  ),
  EXTENSION_REFUSED: entry(
    'Validation Error',
    'An extension of this server rejected the change. The message gives its reason.',
  ),
  RATE_LIMITED: entry('Too Many Requests', 'The caller sent too many requests. Wait `retryAfter` seconds.'),
  HEADERS_TOO_LARGE: entry(
    'Headers Too Large',
    'The request line and the headers are larger than 80 KiB. Send long filters in the body of a POST request.',
  ),
  APPLICATION_FAILED: entry(
    'Internal Server Error',
    'The application could not be opened, its disk failed, or the connection was lost during a commit; the message names the stage. In the last two cases the outcome of a write is unknown: read the data, or repeat the request with the same Idempotency-Key.',
  ),
  EXTENSION_FAILED: entry(
    'Internal Server Error',
    'An extension of this server failed or took too long. Nothing was written; the log names the extension.',
  ),
  INTERNAL: entry('Internal Server Error', 'An unexpected error occurred. The log contains it under the requestId.'),
  QUERY_TIMEOUT: entry(
    'Service Unavailable',
    'A read, or the search for the records to write, took longer than 5 seconds and was cancelled. Narrow it down or add an index.',
  ),
  BUSY: entry('Service Unavailable', 'Too many writes are waiting or conflict with each other. Try again.'),
  DATABASE_UNAVAILABLE: entry(
    'Service Unavailable',
    'PostgreSQL is unreachable, is starting or stopping, has no connection or disk space left, or does not answer in time; or SQLite checkpoints fail and the write-ahead log has exceeded its limit. Nothing was written. Try again.',
  ),
  MAIL_OFF: entry('Service Unavailable', 'The server cannot send mail, because `SMTP_URL` is not set.'),
  APPLICATION_STOPPED: entry(
    'Service Unavailable',
    'The application is stopped. An administrator of `main` can start it.',
  ),
  NOT_READY: entry(
    'Service Unavailable',
    'Only `/ready`: the server cannot write, because its disk or its database has failed. For administrators, `details` gives the reasons.',
  ),
  STOPPING: entry('Service Unavailable', 'The server is stopping.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;
