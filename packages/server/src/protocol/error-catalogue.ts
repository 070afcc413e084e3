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
  /** When the error occurs and what the client can do about it; the text of docs/errors.md. */
  readonly when: string;
}

const entry = (label: ErrorLabel, when: string): ErrorEntry => ({ label, when });

/**
 * Every error that leaves the server, by its stable machine name (`code` in a reply). Compared with docs/errors.md by a
 * test.
 */
export const errorCatalogue = {
  BODY_INVALID: entry(
    'Bad Request',
    'The body is not JSON in UTF-8, contains a forbidden key, or does not have the form that the action expects.',
  ),
  PARAMETER_UNKNOWN: entry('Bad Request', 'The action does not have the query parameter.'),
  PARAMETER_INVALID: entry(
    'Bad Request',
    'A query parameter is malformed, out of range, or given twice with different values.',
  ),
  FIELD_UNKNOWN: entry('Bad Request', 'A field named in the request does not exist in the collection.'),
  RELATION_UNKNOWN: entry('Bad Request', 'A path or `appends` names something that is not a relation.'),
  OPERATOR_UNKNOWN: entry('Bad Request', 'The filter operator does not exist.'),
  OPERATOR_MISFIT: entry('Bad Request', 'The filter operator cannot be used with the type of the field.'),
  FILTER_INVALID: entry(
    'Bad Request',
    'The filter does not follow the grammar, or contains a value of the wrong type.',
  ),
  LIMIT_EXCEEDED: entry(
    'Bad Request',
    'The request exceeds a limit: depth, conditions, relations or values of its query or JSON, rows, or reply size. The message names the limit.',
  ),
  FILE_INVALID: entry(
    'Bad Request',
    'The file to import is damaged, incomplete, encrypted or of another kind. The message names the line and the cure.',
  ),
  SORT_INVALID: entry('Bad Request', 'The field cannot be used in `sort`.'),
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
    'The link to set a password or to create the first administrator, or the sign-in with a mail provider, is unknown, used or expired. Request another one.',
  ),
  HEADER_INVALID: entry('Bad Request', 'A header is malformed or given twice.'),
  TOKEN_MISSING: entry('Unauthorized', 'The action is not public, and the request has no Authorization header.'),
  TOKEN_INVALID: entry(
    'Unauthorized',
    'The credential is malformed, unknown, revoked, or was signed under another APP_KEY.',
  ),
  TOKEN_EXPIRED: entry('Unauthorized', 'The API key or the session has expired. Create another one.'),
  SIGN_IN_FAILED: entry(
    'Unauthorized',
    'The user is unknown or suspended, or the password is wrong. The reply does not distinguish these cases.',
  ),
  SESSION_NEEDED: entry('Forbidden', 'The action is only available to users who have signed in, not to API keys.'),
  ORIGIN_DENIED: entry(
    'Forbidden',
    'A web page of another origin called `/mcp`. Add the origin to `CORS_ORIGINS`, or set `PUBLIC_URL` if it is that of the server.',
  ),
  SIGN_UP_CLOSED: entry('Forbidden', 'Sign-up is not allowed in this application: `ALLOW_SIGN_UP` does not name it.'),
  APPLICATION_MISMATCH: entry('Forbidden', 'The API key does not belong to the application that X-App names.'),
  FIELD_DENIED: entry('Forbidden', 'The request names a field that the role may not read or write.'),
  SYSTEM_PROTECTED: entry(
    'Forbidden',
    'The request would change a protected part of the system: a system collection, a core field, a built-in role or the last administrator.',
  ),
  ROLE_NOT_HELD: entry('Forbidden', 'The caller does not have the role that X-Role or the new API key names.'),
  NO_PERMISSION: entry(
    'No permissions',
    'The role does not allow the action on the resource, or the record is outside its row filter.',
  ),
  ROUTE_UNKNOWN: entry('Not Found', 'The route, resource or action does not exist.'),
  COLLECTION_UNKNOWN: entry('Not Found', 'No collection has this name.'),
  RECORD_UNKNOWN: entry('Not Found', 'No record has this key, or no record matches.'),
  MAIL_BODY_DELETED: entry(
    'Not Found',
    'Only the headers of the e-mail are stored, and its message was deleted on the mail server, or moved there. The next synchronisation deletes the e-mail, or finds it in its new mailbox.',
  ),
  UNSUBSCRIBE_FAILED: entry(
    'Not Found',
    'An e-mail offers no unsubscription with one click, or the mailing list refused it or cannot be reached.',
  ),
  IMAGE_UNAVAILABLE: entry('Not Found', 'An external image of a message cannot be fetched, or is not an image.'),
  THUMBNAIL_UNAVAILABLE: entry(
    'Not Found',
    'The file is not of a type for which thumbnails are made (PNG, JPEG, GIF, WebP, AVIF, TIFF), or it is too large or damaged. Its bytes can be read without `width` and `height`.',
  ),
  APPLICATION_UNKNOWN: entry('Not Found', 'No application has the name in X-App.'),
  METHOD_NOT_ALLOWED: entry(
    'Method Not Allowed',
    'The action does not accept this HTTP method. The Allow header lists the accepted ones.',
  ),
  UNIQUE_CONFLICT: entry('Conflict', 'Another record already has this value in a unique field.'),
  KEYS_EXHAUSTED: entry(
    'Conflict',
    'The collection has no generated key left. Records can still be created with an explicit, free key.',
  ),
  COLLECTION_EXISTS: entry('Conflict', 'A collection of this name already exists.'),
  APPLICATION_EXISTS: entry('Conflict', 'An application of this name already exists.'),
  FIELD_EXISTS: entry('Conflict', 'The collection already has a field of this name.'),
  PERMISSION_EXISTS: entry('Conflict', 'The role already has a permission for this resource and action.'),
  DATA_WOULD_BE_LOST: entry(
    'Conflict',
    'A change of definitions would delete records, values or history. To accept this, send `force=true` to `collections:update`, or `"allowDestructive": true` to `schema:apply` and `schema:rollback`.',
  ),
  DEPENDANTS_EXIST: entry(
    'Conflict',
    'Other collections, records, users or keys depend on what would be deleted or changed.',
  ),
  BACKUP_RUNNING: entry(
    'Conflict',
    'Another backup, restore or move to another node is running. Wait until it has ended.',
  ),
  BACKUP_UNUSABLE: entry(
    'Conflict',
    'The backup cannot be used: it is incomplete, damaged or encrypted, was made on the other engine, or its files are on another machine. The message says which, and names the cure.',
  ),
  MOVE_REFUSED: entry(
    'Conflict',
    'A move cannot write the application on this server: it is not stopped, was not created by this move, or its data does not fit. Or an application cannot be moved to a node now. The message says why.',
  ),
  KEY_ENDED: entry(
    'Conflict',
    'The API key has expired, or has already been rotated. Rotate its successor, or create another key.',
  ),
  MAIL_QUEUED: entry(
    'Conflict',
    'The e-mail is waiting to be sent, or is being sent. `emails:cancelSend` makes it a draft again.',
  ),
  MAIL_NOT_QUEUED: entry(
    'Conflict',
    'The e-mail is not waiting to be sent, is being transmitted at this moment, or has no recipient to whom it could be sent again.',
  ),
  RETHREAD_RUNNING: entry(
    'Conflict',
    'A rebuild of the conversations of the account is already running. Wait until it has ended.',
  ),
  REQUEST_RUNNING: entry(
    'Conflict',
    'A request with the same Idempotency-Key is still running. Wait until it has ended, then repeat the request.',
  ),
  REPLY_NOT_KEPT: entry(
    'Conflict',
    'A request with the same Idempotency-Key was started, and its reply is not available. Check the data.',
  ),
  VERSION_STALE: entry(
    'Precondition Failed',
    'If-Match names another version of the record. Nothing was written. Read the record again.',
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
  VALUE_INVALID: entry(
    'Validation Error',
    'One or more values are not valid for their fields. `details` names each field.',
  ),
  IMPORT_INVALID: entry(
    'Validation Error',
    'Some rows of the file are invalid, so nothing was imported. `errors` names each row; `skipInvalid=true` imports the others.',
  ),
  IDEMPOTENCY_KEY_REUSED: entry(
    'Validation Error',
    'The Idempotency-Key was used for another request. Use a new key for each request.',
  ),
  PASSWORD_WRONG: entry('Validation Error', 'The old password is wrong. Nothing was changed.'),
  DEFINITION_INVALID: entry(
    'Validation Error',
    'The definition of a collection, field, role, permission or key is not valid. `details` names each path.',
  ),
  EXTENSION_REFUSED: entry(
    'Validation Error',
    'An extension of this server refused the change. Its message gives the reason.',
  ),
  RATE_LIMITED: entry('Too Many Requests', 'The caller has sent too many requests. Wait `retryAfter` seconds.'),
  HEADERS_TOO_LARGE: entry(
    'Headers Too Large',
    'The request line and the headers exceed 80 KiB. Send long filters in the body of a POST request.',
  ),
  APPLICATION_FAILED: entry(
    'Internal Server Error',
    'The application could not be opened, its disk failed, or the connection was lost during a commit; the message names the stage. In the last two cases the outcome of a write is unknown: read the data, or repeat the request with the same Idempotency-Key.',
  ),
  EXTENSION_FAILED: entry(
    'Internal Server Error',
    'An extension of this server failed or took too long. Nothing was written. The log names the extension.',
  ),
  INTERNAL: entry('Internal Server Error', 'An unexpected fault. The log describes it under the requestId.'),
  QUERY_TIMEOUT: entry(
    'Service Unavailable',
    'The read, or the search for the records to write, took longer than 5 seconds and was aborted. Narrow the filter or add an index.',
  ),
  BUSY: entry(
    'Service Unavailable',
    'Too many writes conflict or are waiting, or the application is just being moved to another node. Try again.',
  ),
  DATABASE_UNAVAILABLE: entry(
    'Service Unavailable',
    'PostgreSQL is unreachable, starting or stopping, has no connection or space left, or does not answer in time; or checkpoints of SQLite fail and the write-ahead log has exceeded its limit. Nothing was written; try again.',
  ),
  FILES_UNAVAILABLE: entry(
    'Service Unavailable',
    'The service that stores the bytes of files and e-mails does not respond or refuses access. No file was stored; try again.',
  ),
  BACKUP_STORAGE_UNAVAILABLE: entry(
    'Service Unavailable',
    'The bucket for backups (`BACKUP_S3_BUCKET`) does not respond or refuses access. The message names the cause and the setting. Nothing was changed; try again.',
  ),
  MAIL_OFF: entry('Service Unavailable', 'The server cannot send e-mail: `SMTP_URL` is not set.'),
  MAIL_BODY_REMOTE: entry(
    'Service Unavailable',
    'Only the headers of the e-mail are stored; its body is still on the mail server of the account, which cannot be read now. Try again.',
  ),
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
