/** Temporary files without a name: nothing remains in the folder, however the process ends. */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes of one read. */
const readBytes = 64 * 1024;

/** Opens an empty file to write and read, which is removed when it is closed or the process ends. */
export async function openUnlinkedFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'tablinum-'));
  try {
    return await open(join(folder, 'file'), 'wx+', 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The bytes of a file. A stream is not used: if it fails, it closes the descriptor. Closing the handle would then close
 * a descriptor that may belong to another file by that time.
 */
export async function* readFromStart(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(readBytes), position });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
