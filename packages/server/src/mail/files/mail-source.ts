import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { FileMessage } from './mail-file.ts';
import { readMaildir, readMessageFile } from './maildir-reader.ts';
import { readMbox } from './mbox-reader.ts';

/** What lies at a path: a Maildir, a folder of `.eml` files, an mbox file, or one message. */
export type MailSourceKind = 'maildir' | 'folder' | 'mbox' | 'message';

/** @throws the file system's error where nothing is there. */
export async function kindOfMailSource(path: string): Promise<MailSourceKind> {
  if (!(await stat(path)).isDirectory()) return (await beginsWithFrom(path)) ? 'mbox' : 'message';
  const names = await readdir(path);
  return names.includes('cur') && names.includes('new') ? 'maildir' : 'folder';
}

/** All messages at a path, one in memory at a time. */
export async function* readMailSource(path: string): AsyncGenerator<FileMessage> {
  const kind = await kindOfMailSource(path);
  if (kind === 'maildir') yield* readMaildir(path);
  if (kind === 'mbox') yield* readMbox(createReadStream(path));
  if (kind === 'folder') yield* readMessageFolder(path);
  if (kind === 'message') yield await readMessageFile(path);
}

/** The `.eml` files of a folder and of those below it, by path; a folder below is the mailbox of its messages. Links are not followed. */
export async function* readMessageFolder(folder: string): AsyncGenerator<FileMessage> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile() && /\.eml$/i.test(entry.name));
  for (const path of paths.map((entry) => join(entry.parentPath, entry.name)).sort()) {
    const mailbox = relative(folder, dirname(path)).split(sep).join('/');
    yield { ...(await readMessageFile(path)), ...(mailbox ? { mailbox } : {}) };
  }
}

async function beginsWithFrom(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(5));
    return buffer.subarray(0, bytesRead).toString('latin1') === 'From ';
  } finally {
    await file.close();
  }
}
