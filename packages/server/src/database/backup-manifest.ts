/** The manifest of a backup, `backup.json`: what the backup contains, so that a damaged or incomplete one is noticed. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { syncToDisk, syncTree } from '../base/sync-to-disk.ts';
import { applicationNamePattern } from './application-rows.ts';

/** A reader refuses a newer format than this one. Format 2 is encrypted; all others have format 1, which earlier versions read too. */
export const backupFormat = 2;
export const manifestName = 'backup.json';

export type BackupEngine = 'sqlite' | 'postgres';

/** An application of a backup. `displayName` and `options` (JSON text) are those of its entry in `main`. */
export interface BackupApplication {
  readonly name: string;
  readonly store: string;
  readonly displayName: string | null;
  readonly options: string | null;
}

export interface BackupFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** For an encrypted file, whose path ends with `.age`: size and SHA-256 of its decrypted content. */
  readonly plain?: { readonly bytes: number; readonly sha256: string };
}

/** Who requested a backup: a user, the schedule, or a restore that keeps what it replaces. */
export type BackupReason = 'request' | 'schedule' | 'restore';

/** A table: on SQLite within the database file, on PostgreSQL in a file of its own. */
export interface BackupTable {
  readonly file: string;
  readonly table: string;
  readonly rows: number;
}

export interface BackupManifest {
  readonly format: number;
  readonly serverVersion: string;
  readonly engine: BackupEngine;
  /** ISO 8601, when the backup began. */
  readonly at: string;
  /** `all`: `main` and with it all applications. `application`: one other application. */
  readonly scope: 'all' | 'application';
  /** The bucket that has the bytes of files and mail, which are then not in the backup. */
  readonly bucket: string | null;
  readonly applications: readonly BackupApplication[];
  readonly files: readonly BackupFile[];
  readonly tables: readonly BackupTable[];
  /** Absent: made by the command line. */
  readonly reason?: BackupReason;
  /** Absent: the files are not encrypted. */
  readonly encryption?: 'age';
}

/** A backup that cannot be used. The message is for the operator. */
export class UnusableBackup extends Error {}

/** Whether a text can be the name of a backup. Names have no path separators, so that they cannot lead to another folder. */
export const isBackupName = (text: string): boolean =>
  /^[A-Za-z0-9][\w.-]{0,99}$/.test(text) && !text.endsWith('.part');

/** Writes the manifest of a folder, durably. `digest` is the SHA-256 of the manifest without it. */
export async function writeManifest(folder: string, manifest: BackupManifest): Promise<void> {
  const path = join(folder, manifestName);
  await writeFile(path, `${JSON.stringify({ ...manifest, digest: digestOf(manifest) }, null, 1)}\n`, { mode: 0o600 });
  await syncToDisk(path);
}

/** @throws UnusableBackup where there is none, or it is damaged, or from a newer version. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, manifestName), 'utf8').catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    throw new UnusableBackup(
      `"${folder}" contains no ${manifestName}, so it is not a complete backup. Name a folder that "tablinum backup" has made.`,
    );
  });
  return parseManifest(folder, text);
}

/**
 * Parses a manifest.
 *
 * @param backup the name of the backup, for messages.
 * @throws UnusableBackup if the manifest is damaged or from a newer version.
 */
export function parseManifest(backup: string, text: string): BackupManifest {
  const { digest, ...manifest } = parseObject(backup, text);
  if (typeof manifest.format === 'number' && manifest.format > backupFormat)
    throw new UnusableBackup(
      `The backup "${backup}" has format ${manifest.format}, made by version ${String(manifest.serverVersion)}. This version reads format ${backupFormat}. Use that version or a newer one.`,
    );
  if (manifest.format !== (manifest.encryption ? 2 : 1) || digest !== digestOf(manifest)) throw damagedManifest(backup);
  for (const { path } of manifest.files) checkPath(backup, path);
  // The store becomes part of the names of files and schemas, and an application is created with the name.
  if (
    !manifest.applications.every(
      ({ store, name }) => /^[0-9a-f-]{1,36}$/.test(store) && applicationNamePattern.test(name),
    )
  )
    throw damagedManifest(backup);
  return manifest;
}

function parseObject(backup: string, text: string): BackupManifest & { digest?: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as BackupManifest;
  } catch {}
  throw damagedManifest(backup);
}

const damagedManifest = (folder: string): UnusableBackup =>
  new UnusableBackup(`${manifestName} in "${folder}" is damaged. Use another backup.`);

function digestOf(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** A manifest must not lead out of its folder. */
function checkPath(folder: string, path: string): void {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..') || path.includes('\\'))
    throw damagedManifest(folder);
}

/**
 * Compares the files of a backup, or of a copy of it, with its manifest.
 *
 * @param backup the name of the backup for messages.
 * @throws UnusableBackup naming the first file that is missing or differs in size or content, and the number of such files.
 */
export async function checkFiles(folder: string, manifest: BackupManifest, backup = folder): Promise<void> {
  const problems: string[] = [];
  for (const file of manifest.files) {
    const problem = await checkFile(folder, file);
    if (problem !== null) problems.push(`${file.path} ${problem}`);
  }
  const [first] = problems;
  if (first === undefined) return;
  const more = problems.length > 1 ? ` ${problems.length - 1} more files are damaged.` : '';
  throw new UnusableBackup(`The backup "${backup}" is damaged: ${first}.${more} Use another backup.`);
}

export async function checkFile(folder: string, { path, bytes, sha256 }: BackupFile): Promise<string | null> {
  const found = await stat(join(folder, path)).catch(nullIfNoFile);
  if (!found?.isFile()) return 'is missing';
  if (found.size !== bytes) return `has ${found.size} bytes instead of ${bytes}`;
  return (await hashFile(join(folder, path))) === sha256 ? null : 'has different content (its SHA-256 differs)';
}

/** @throws UnusableBackup naming the first table that has another number of rows. */
export function compareCounts(wanted: readonly BackupTable[], found: readonly BackupTable[]): void {
  const counts = new Map(found.map(({ table, rows }) => [table, rows]));
  for (const { file, table, rows } of wanted)
    if (counts.get(table) !== rows)
      throw new UnusableBackup(
        `${file}: the table "${table}" has ${counts.get(table) ?? 'no'} rows instead of ${rows}. Use another backup.`,
      );
}

/** The files of a folder with their sizes and hashes, by path, without the manifest. */
export async function describeFiles(folder: string): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const path of await listFiles(folder)) {
    const { size } = await stat(join(folder, path));
    files.push({ path, bytes: size, sha256: await hashFile(join(folder, path)) });
  }
  return files;
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => path !== manifestName)
    .sort();
}

/** Files up to this size are read at once: the buffers of a stream cost more than the files of most tables. */
export const smallFileBytes = 1024 * 1024;

/** The SHA-256 of a file, hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  if ((await stat(path)).size <= smallFileBytes) hash.update(await readFile(path));
  else
    for await (const piece of createReadStream(path, { highWaterMark: smallFileBytes }))
      hash.update(piece as Uint8Array);
  return hash.digest('hex');
}

/**
 * Makes a folder that is complete and durable when it gets its name.
 *
 * @param work fills the folder that it is given.
 * @throws Error where the folder exists.
 */
export async function makeDurableFolder<T>(target: string, work: (part: string) => Promise<T>): Promise<T> {
  if (existsSync(target)) throw new Error(`"${target}" already exists. Name a folder that does not exist yet.`);
  const part = `${target}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true, mode: 0o700 });
  const result = await work(part).catch(async (error: unknown) => {
    await rm(part, { recursive: true, force: true });
    throw error;
  });
  await syncTree(part);
  await rename(part, target);
  await syncToDisk(dirname(target));
  return result;
}

function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === 'ENOENT';
}

export function nullIfNoFile(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}
