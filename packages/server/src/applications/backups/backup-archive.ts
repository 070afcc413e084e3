/** A backup as one tar file, which is made while it is read. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import type { OpenBlob } from '../../base/blob-store.ts';
import { type BackupManifest, manifestName } from '../../database/backup-manifest.ts';

const block = 512;
/** Two empty blocks end an archive. */
const endBytes = 2 * block;

interface ArchivedFile {
  readonly path: string;
  readonly bytes: number;
}

/** Opens the archive of a backup. Its files are in a folder with the name of the backup. Equal backups have equal archives. */
export async function openArchive(folder: string, name: string, manifest: BackupManifest): Promise<OpenBlob> {
  const { size } = await stat(join(folder, manifestName));
  const files: ArchivedFile[] = [{ path: manifestName, bytes: size }, ...manifest.files];
  const mtime = new Date(manifest.at);
  return {
    size: files.reduce((sum, { bytes }) => sum + block + Math.ceil(bytes / block) * block, endBytes),
    read: (from, to) => readRange(writeArchive({ folder, name, files, mtime }), from, to),
  };
}

interface Archive {
  readonly folder: string;
  readonly name: string;
  readonly files: readonly ArchivedFile[];
  readonly mtime: Date;
}

async function* writeArchive({ folder, name, files, mtime }: Archive): AsyncGenerator<Uint8Array> {
  const archive = pack();
  let error: unknown = null;
  const write = async (): Promise<void> => {
    for (const { path, bytes } of files) {
      const entry = archive.entry({ name: `${name}/${path}`, size: bytes, mode: 0o600, mtime });
      await pipeline(createReadStream(join(folder, path)), entry);
    }
    archive.finalize();
  };
  const writing = write().catch((cause: unknown) => {
    error = cause;
    archive.destroy();
  });
  try {
    for await (const piece of archive) yield piece as Uint8Array;
    if (error !== null) throw error;
  } catch (cause) {
    throw error ?? cause;
  } finally {
    archive.destroy();
    await writing;
  }
}

/** The bytes from one position to another, both inclusive. */
async function* readRange(pieces: AsyncGenerator<Uint8Array>, from: number, to: number): AsyncGenerator<Uint8Array> {
  let position = 0;
  for await (const piece of pieces) {
    const [begin, end] = [Math.max(from - position, 0), Math.min(to + 1 - position, piece.length)];
    position += piece.length;
    if (end > begin) yield piece.subarray(begin, end);
    if (position > to) return;
  }
}
