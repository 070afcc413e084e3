/** A backup as one tar file, which is generated while it is read. */
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import type { OpenBlob } from '../../base/blob-store.ts';
import { type BackupFile, type BackupManifest, manifestName } from '../../database/backup-manifest.ts';

const block = 512;
/** Two empty blocks end an archive. */
const endBytes = 2 * block;

/** The content of a complete backup. */
export interface ArchiveSource {
  readonly name: string;
  readonly manifest: BackupManifest;
  readonly manifestBytes: Uint8Array;
  readonly openFile: (file: BackupFile) => AsyncIterable<Uint8Array>;
}

/** Opens the archive of a backup. In it, the files are in a folder with the name of the backup. Equal backups have equal archives. */
export function openArchive(source: ArchiveSource): OpenBlob {
  const sizes = [source.manifestBytes.length, ...source.manifest.files.map(({ bytes }) => bytes)];
  return {
    size: sizes.reduce((sum, bytes) => sum + block + Math.ceil(bytes / block) * block, endBytes),
    read: (from, to) => readRange(writeArchive(source), from, to),
  };
}

async function* writeArchive({ name, manifest, manifestBytes, openFile }: ArchiveSource): AsyncGenerator<Uint8Array> {
  const mtime = new Date(manifest.at);
  const archive = pack();
  let error: unknown = null;
  const write = async (): Promise<void> => {
    const add = async (path: string, size: number, bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) =>
      pipeline(bytes, archive.entry({ name: `${name}/${path}`, size, mode: 0o600, mtime }));
    await add(manifestName, manifestBytes.length, [manifestBytes]);
    for (const file of manifest.files) await add(file.path, file.bytes, openFile(file));
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
