/** The labels of the specification: what `error` says in a reply. http/ gives each its status. */
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
  /** When it is answered and what the client does about it; the text of docs/errors.md. */
  readonly when: string;
}

const entry = (label: ErrorLabel, when: string): ErrorEntry => ({ label, when });

/** Every error that leaves the server, by its stable machine name (`code` in a reply). Compared with docs/errors.md by a test. */
export const errorCatalogue = {
  BODY_INVALID: entry(
    'Bad Request',
    'The body is not JSON in UTF-8, contains a forbidden key, or does not have the form that the action expects.',
  ),
  PARAMETER_UNKNOWN: entry('Bad Request', 'A query parameter that the action does not know.'),
  PARAMETER_INVALID: entry(
    'Bad Request',
    'A query parameter is malformed, out of range, or given twice with different values.',
  ),
  FIELD_UNKNOWN: entry('Bad Request', 'A field named in the request does not exist in the collection.'),
  RELATION_UNKNOWN: entry('Bad Request', 'A path or append names something that is no relation.'),
  OPERATOR_UNKNOWN: entry('Bad Request', 'A filter operator that does not exist.'),
  OPERATOR_MISFIT: entry('Bad Request', 'A filter operator that does not fit the type of the field.'),
  FILTER_INVALID: entry(
    'Bad Request',
    'A filter of another form than the grammar, or a value of the wrong type in it.',
  ),
  LIMIT_EXCEEDED: entry(
    'Bad Request',
    'The request exceeds a limit: depth, conditions, relations or values of its query or JSON, rows, or reply size. The message names the limit.',
  ),
  SORT_INVALID: entry('Bad Request', 'A sort term on a field that does not sort.'),
  CURSOR_INVALID: entry(
    'Bad Request',
    'The cursor in `after` or `since` is malformed, or belongs to another sort, filter or role.',
  ),
  TARGET_MISSING: entry('Bad Request', 'The action needs `filterByTk` or a non-empty filter.'),
  REFERENCE_MISSING: entry(
    'Bad Request',
    'A foreign key names a record that does not exist or that the caller may not see.',
  ),
  LINK_INVALID: entry(
    'Bad Request',
    'A link to set a password, or to make the first admin, is unknown, used or over; ask for another one.',
  ),
  HEADER_INVALID: entry('Bad Request', 'A header is malformed or given twice.'),
  TOKEN_MISSING: entry('Unauthorized', 'No Authorization header on an action that is not public.'),
  TOKEN_INVALID: entry(
    'Unauthorized',
    'The credential is malformed, unknown, revoked, or was signed under another APP_KEY.',
  ),
  TOKEN_EXPIRED: entry('Unauthorized', 'The API key or the login is past its end; make a new one.'),
  SIGN_IN_FAILED: entry(
    'Unauthorized',
    'Unknown user, wrong password, or suspended user; the three are not told apart.',
  ),
  SESSION_NEEDED: entry('Forbidden', 'The action belongs to a user who has signed in; an API key does not do it.'),
  SIGN_UP_CLOSED: entry('Forbidden', 'Nobody signs up in this application: `ALLOW_SIGN_UP` does not name it.'),
  APPLICATION_MISMATCH: entry('Forbidden', 'The key belongs to another application than X-App names.'),
  FIELD_DENIED: entry('Forbidden', 'A field is named that the role may not read or write.'),
  SYSTEM_PROTECTED: entry(
    'Forbidden',
    'A system collection, core field, built-in role or the last admin would be changed.',
  ),
  ROLE_NOT_HELD: entry('Forbidden', 'X-Role, or the role of a new key, is none that the caller holds.'),
  NO_PERMISSION: entry(
    'No permissions',
    'The role does not allow the action on the resource, or the record is outside its row filter.',
  ),
  ROUTE_UNKNOWN: entry('Not Found', 'No such route, resource or action.'),
  COLLECTION_UNKNOWN: entry('Not Found', 'No collection of that name.'),
  RECORD_UNKNOWN: entry('Not Found', 'No record with that key, or none that matches.'),
  IMAGE_UNAVAILABLE: entry(
    'Not Found',
    'An image of another place that a message shows cannot be had from there, or is none.',
  ),
  APPLICATION_UNKNOWN: entry('Not Found', 'X-App names no application.'),
  METHOD_NOT_ALLOWED: entry(
    'Method Not Allowed',
    'The action is not answered under this method; see the Allow header.',
  ),
  UNIQUE_CONFLICT: entry('Conflict', 'A unique field already holds the value in another record.'),
  KEYS_EXHAUSTED: entry(
    'Conflict',
    'The collection has no generated key left. Records can still be created with an explicit, free key.',
  ),
  COLLECTION_EXISTS: entry('Conflict', 'A collection of that name exists.'),
  APPLICATION_EXISTS: entry('Conflict', 'An application of that name exists.'),
  FIELD_EXISTS: entry('Conflict', 'The collection has a field of that name.'),
  PERMISSION_EXISTS: entry('Conflict', 'The role already has a permission row on that resource and action.'),
  DATA_WOULD_BE_LOST: entry(
    'Conflict',
    'Switching off an option of a collection would delete records, values or history. Send `force=true` to accept this.',
  ),
  DEPENDANTS_EXIST: entry(
    'Conflict',
    'Other collections, records, users or keys depend on what would be destroyed or changed.',
  ),
  KEY_ENDED: entry('Conflict', 'The API key is over, or has a successor already; rotate that one, or make a new key.'),
  MAIL_QUEUED: entry('Conflict', 'The e-mail waits to be sent, or is being sent; `emails:cancelSend` calls it back.'),
  MAIL_NOT_QUEUED: entry(
    'Conflict',
    'The e-mail does not wait to be sent: it was never sent, or is on its way already.',
  ),
  RETHREAD_RUNNING: entry(
    'Conflict',
    'The conversations of the account are being made anew already; wait for that to end.',
  ),
  REQUEST_RUNNING: entry(
    'Conflict',
    'A request with the same Idempotency-Key is still running; wait for its end and ask again.',
  ),
  REPLY_NOT_KEPT: entry(
    'Conflict',
    'A request with the same Idempotency-Key was begun or done, and its reply is not to be had again; look what is there.',
  ),
  VERSION_STALE: entry(
    'Precondition Failed',
    'If-Match names another version of the record; read it again. Nothing was written.',
  ),
  BODY_TOO_LARGE: entry(
    'Payload Too Large',
    'The body is over 10 MiB, or over 64 KiB from a caller without a verified credential.',
  ),
  EXPECTATION_FAILED: entry('Expectation Failed', 'The Expect header is not `100-continue`. Leave it out.'),
  MEDIA_TYPE_UNSUPPORTED: entry(
    'Unsupported Media Type',
    'The body is not application/json in UTF-8, or is compressed.',
  ),
  VALUE_INVALID: entry('Validation Error', 'One or more values do not fit their fields; `details` names each.'),
  IDEMPOTENCY_KEY_REUSED: entry(
    'Validation Error',
    'The Idempotency-Key was used for another request; take a new key for each request.',
  ),
  PASSWORD_WRONG: entry('Validation Error', 'The old password is wrong; nothing was changed.'),
  DEFINITION_INVALID: entry(
    'Validation Error',
    'A collection, field, role, permission or key is badly defined; `details` names each place.',
  ),
  EXTENSION_REFUSED: entry('Validation Error', 'An extension of this server refuses the change; its message says why.'),
  RATE_LIMITED: entry('Too Many Requests', 'Too many requests; wait `retryAfter` seconds.'),
  HEADERS_TOO_LARGE: entry(
    'Headers Too Large',
    'The request line and headers are over 80 KiB; send long filters by POST.',
  ),
  APPLICATION_FAILED: entry(
    'Internal Server Error',
    'The application could not be opened, its disk failed, or the connection was lost during a commit; the message names the stage. In the last two cases the outcome of a write is unknown: read the data, or repeat the request with the same Idempotency-Key.',
  ),
  EXTENSION_FAILED: entry(
    'Internal Server Error',
    'An extension of this server failed or took too long; nothing was written, and the log names it.',
  ),
  INTERNAL: entry('Internal Server Error', 'An unexpected fault; the log has it under the requestId.'),
  QUERY_TIMEOUT: entry(
    'Service Unavailable',
    'The read, or the look for what to write, took longer than 5 seconds and was ended; narrow it or add an index.',
  ),
  BUSY: entry('Service Unavailable', 'Too many writes collide or wait; try again.'),
  DATABASE_UNAVAILABLE: entry(
    'Service Unavailable',
    'PostgreSQL is unreachable, starting or stopping, has no connection or space left, or does not answer in time; or checkpoints of SQLite fail and the write-ahead log has exceeded its limit. Nothing was written; try again.',
  ),
  MAIL_OFF: entry('Service Unavailable', 'The server sends no mail: `SMTP_URL` is not set.'),
  APPLICATION_STOPPED: entry(
    'Service Unavailable',
    'The application is stopped; an administrator of `main` starts it.',
  ),
  NOT_READY: entry(
    'Service Unavailable',
    'Only `/ready`: the server cannot write, because its disk or its database has failed. For administrators, `details` gives the reasons.',
  ),
  STOPPING: entry('Service Unavailable', 'The server is stopping.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;
