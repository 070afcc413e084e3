/** Why a server did not start, as one line for the operator: setting, path or address, cause, and cure. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** An error whose message is printed without a stack. */
export class StartFailure extends Error {}

interface Coded {
  readonly code?: string;
  readonly errcode?: number;
  readonly errstr?: string;
  readonly message?: string;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

const fileCauses: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied to the user of this process',
  EPERM: 'permission is denied to the user of this process',
  EROFS: 'the file system is read only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EEXIST: 'a part of the path is a file, not a folder',
  ENOENT: 'a part of the path does not exist',
  ELOOP: 'the path is a loop of symbolic links',
  EIO: 'the disk fails',
};

/** The error for a data folder that cannot be used. It names the setting and the cause. */
export function folderFailure(setting: string, folder: string, error: unknown): StartFailure {
  const cause = findPathProblem(folder) ?? describeFileError(error);
  return new StartFailure(
    `${setting} "${resolve(folder)}" cannot be used: ${cause}. Set ${setting} to a folder that this user may write, or give this user access.`,
    { cause: error },
  );
}

/** Why this process cannot write to a folder, or create it; null if no cause is visible. */
export function findPathProblem(folder: string): string | null {
  let existing = resolve(folder);
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  try {
    if (!statSync(existing).isDirectory()) return `"${existing}" is a file, not a folder`;
    accessSync(existing, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `"${existing}" cannot be written, because ${describeFileError(error)}`;
  }
}

/** Whether the operating system refused a file or folder. False: the engine refused its content. */
export function isFileFault(error: unknown): boolean {
  const { code, errcode } = findRootCause(error);
  return errcode === undefined && code !== undefined && code in fileCauses;
}

function describeFileError(error: unknown): string {
  const { code, message, errcode, errstr } = (error ?? {}) as Coded;
  if (errcode !== undefined) return `its file server.lock cannot be locked; SQLite says "${errstr}" (${errcode})`;
  return fileCauses[code ?? ''] ?? toOneLine(message ?? String(error));
}

const sqliteCures: Readonly<Record<number, string>> = {
  5: 'another program holds it locked; end that program',
  8: 'it, or its folder, cannot be written by the user of this process',
  10: 'the disk fails; look at the log of the system',
  11: 'it is damaged; restore it from a backup',
  13: 'the disk is full; a start needs as much free space as its write-ahead log (-wal) is long',
  14: 'it, or its folder, cannot be opened by the user of this process',
  26: 'it is damaged or not an SQLite file; restore it from a backup',
};

/** Explains why the SQLite file of `main` cannot be opened; other errors are returned unchanged. */
export function sqliteFailure(path: string, error: unknown): unknown {
  if (error instanceof StartFailure) return error;
  const { errcode, errstr } = findRootCause(error);
  if (errcode === undefined) return error;
  const cure = sqliteCures[errcode % 256];
  const detail = `SQLite says "${errstr}" (${errcode})`;
  return new StartFailure(
    `The database file "${resolve(path)}" (in DATA_DIR) cannot be used: ${cure === undefined ? detail : `${cure}. ${detail}`}.`,
    { cause: error },
  );
}

const postgresCures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there. Check that PostgreSQL is running, and the host and port',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be looked up now',
  ETIMEDOUT: 'the host does not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ECONNRESET: 'the connection was reset',
  '28P01': 'the password is wrong',
  '28000': 'PostgreSQL does not allow this user to connect from this host (pg_hba.conf)',
  '3D000': 'the database does not exist; create it first',
  '42501': 'the user lacks a permission; grant it CREATE on the database',
  '53300': 'PostgreSQL has no connection left',
  '57P03': 'PostgreSQL is starting up or shutting down',
};

/** The error for a PostgreSQL server that cannot be used. It names address and cause, but not user and password. */
export function postgresFailure(url: string, error: unknown): unknown {
  if (error instanceof StartFailure) return error;
  const { code, message } = findRootCause(error);
  if (code === 'ERR_INVALID_URL')
    return new StartFailure(
      'DATABASE_URL is not a valid address. Write postgres://user:password@host:5432/database, with special characters of the password percent-encoded.',
    );
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: 'the default host', pathname: '' };
  const cure = postgresCures[code ?? ''];
  const detail = [toOneLine(message ?? '').replace(/\.$/, ''), code].filter(Boolean).join(', ');
  return new StartFailure(
    `PostgreSQL at ${host}${pathname} (DATABASE_URL) cannot be used: ${cure === undefined ? detail : `${cure} (${detail})`}.`,
    { cause: error },
  );
}

/** The error for an address on which the server cannot listen. It names HOST and PORT. */
export function listenFailure(host: string, port: number, error: unknown): unknown {
  const { code } = (error ?? {}) as Coded;
  const causes: Readonly<Record<string, string>> = {
    EADDRINUSE: `PORT ${port} is in use by another program on HOST ${host}. Stop that program, or set another PORT.`,
    EADDRNOTAVAIL: `HOST ${host} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.`,
    EACCES: `PORT ${port} cannot be opened by the user of this process. Ports below 1024 need a privilege. Set another PORT.`,
    ENOTFOUND: `HOST ${host} is unknown. Set HOST to an address of this machine, or to 0.0.0.0 for all.`,
    EAI_AGAIN: `HOST ${host} cannot be looked up. Set HOST to an address of this machine, or to 0.0.0.0 for all.`,
  };
  const message = causes[code ?? ''];
  return message === undefined ? error : new StartFailure(message, { cause: error });
}

/** The line to print for an error that ended the start. */
export function describeStartFailure(error: unknown): string {
  if (error instanceof StartFailure) return error.message;
  const message = (error as Error | null)?.message || findRootCause(error).message || String(error);
  return `The server could not start: ${toOneLine(message)}`;
}

/**
 * The error code is in the innermost `cause`. Of an AggregateError (several connection attempts), the first error is
 * used.
 */
function findRootCause(error: unknown): Coded {
  let found = (error ?? {}) as Coded;
  for (let depth = 0; depth < 5; depth += 1) {
    const inner = found.errors?.[0] ?? found.cause;
    if (inner === null || typeof inner !== 'object') break;
    found = inner as Coded;
  }
  return found;
}

function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
