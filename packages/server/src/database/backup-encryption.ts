/** Encrypts the files of a backup with age, one by one, and decrypts them. The manifest stays readable. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import {
  type BackupFile,
  type BackupManifest,
  checkFiles,
  hashFile,
  smallFileBytes,
  UnusableBackup,
} from './backup-manifest.ts';

export const encryptedEnding = '.age';

/**
 * Replaces each file of a folder by an encrypted one.
 *
 * @param recipients public keys, `age1…`.
 * @throws Error naming a recipient that is no public key.
 */
export async function encryptFiles(
  folder: string,
  files: readonly BackupFile[],
  recipients: readonly string[],
): Promise<BackupFile[]> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  for (const recipient of recipients)
    try {
      encrypter.addRecipient(recipient);
    } catch (error) {
      throw new Error(`BACKUP_AGE_RECIPIENTS contains "${recipient}", which is not a public key of age.`, {
        cause: error,
      });
    }
  const encrypted: BackupFile[] = [];
  for (const { path, bytes, sha256 } of files) {
    const [from, to] = [join(folder, path), join(folder, path + encryptedEnding)];
    await transform(from, to, {
      stream: (source) => encrypter.encrypt(source),
      bytes: (source) => encrypter.encrypt(source),
    });
    await rm(from);
    const { size } = await stat(to);
    encrypted.push({
      path: path + encryptedEnding,
      bytes: size,
      sha256: await hashFile(to),
      plain: { bytes, sha256 },
    });
  }
  return encrypted;
}

/**
 * Decrypts files of a backup into another folder, and compares them with the manifest.
 *
 * @param identities secret keys, `AGE-SECRET-KEY-1…`. @returns the manifest of the decrypted files.
 * @throws UnusableBackup if the keys do not fit, or a file is damaged.
 */
export async function decryptFiles(
  folder: string,
  manifest: BackupManifest,
  target: string,
  identities: readonly string[],
): Promise<BackupManifest> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    for (const identity of identities) decrypter.addIdentity(identity);
  } catch {
    throw new UnusableBackup('The identity is not a secret key of age (AGE-SECRET-KEY-1…).');
  }
  const files: BackupFile[] = [];
  for (const { path, plain } of manifest.files) {
    if (!plain || !path.endsWith(encryptedEnding))
      throw new UnusableBackup(`The manifest of "${folder}" is damaged: ${path} is not encrypted. Use another backup.`);
    const name = path.slice(0, -encryptedEnding.length);
    await mkdir(dirname(join(target, name)), { recursive: true, mode: 0o700 });
    await transform(join(folder, path), join(target, name), {
      stream: (source) => decrypter.decrypt(source),
      bytes: (source) => decrypter.decrypt(source),
    }).catch((error: unknown) => {
      if ((error as { code?: string }).code === 'ENOSPC') throw error;
      throw new UnusableBackup(
        `${path} cannot be decrypted: ${(error as Error).message}. Use the identity of one of its recipients.`,
      );
    });
    files.push({ path: name, ...plain });
  }
  const { encryption: _, ...rest } = manifest;
  const tables = manifest.tables;
  const decrypted: BackupManifest = { ...rest, format: 1, files, tables };
  await checkFiles(target, decrypted, folder);
  return decrypted;
}

/** The same transformation of bytes in two forms. */
interface Change {
  readonly stream: (source: globalThis.ReadableStream<Uint8Array>) => Promise<globalThis.ReadableStream<Uint8Array>>;
  readonly bytes: (source: Uint8Array) => Promise<Uint8Array>;
}

async function transform(from: string, to: string, change: Change): Promise<void> {
  if ((await stat(from)).size <= smallFileBytes)
    return writeFile(to, await change.bytes(await readFile(from)), { mode: 0o600 });
  const source = Readable.toWeb(createReadStream(from, { highWaterMark: smallFileBytes }));
  const changed = await change.stream(source as unknown as globalThis.ReadableStream<Uint8Array>);
  const bytes = Readable.fromWeb(changed as unknown as ReadableStream<Uint8Array>);
  await pipeline(bytes, createWriteStream(to, { mode: 0o600 }));
}

/** The secret keys of an identity file: lines that begin with `AGE-SECRET-KEY-`. @throws UnusableBackup where there is none. */
export function readIdentities(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const identities = lines.filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  if (identities.length === 0)
    throw new UnusableBackup('The identity has no line with a secret key of age (AGE-SECRET-KEY-1…).');
  return identities;
}
