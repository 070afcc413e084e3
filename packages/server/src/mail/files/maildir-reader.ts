import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { FileMessage, MailFlag } from './mail-file.ts';

const letters: Readonly<Record<string, MailFlag>> = {
  S: 'seen',
  R: 'answered',
  F: 'flagged',
  T: 'deleted',
  D: 'draft',
};

/**
 * Reads the messages of one folder of a Maildir. Files in `tmp` are not delivered yet. Flags are in the file name (`…:2,FS`).
 * Symbolic links are not followed.
 */
export async function* readMaildir(folder: string): AsyncGenerator<FileMessage> {
  for (const part of ['cur', 'new']) {
    for (const name of await listFiles(join(folder, part))) {
      const message = await readMessageFile(join(folder, part, name));
      const flags = parseFlags(name);
      const seconds = Number(/^(\d{9,11})\./.exec(name)?.[1]);
      const receivedAt = seconds > 0 ? new Date(seconds * 1000).toISOString() : message.receivedAt;
      yield { ...message, flags, ...(receivedAt ? { receivedAt } : {}) };
    }
  }
}

/**
 * Reads a file with one message, and its modification time. Only the beginning of a message that is too long is read.
 */
export async function readMessageFile(path: string): Promise<FileMessage> {
  const file = await open(path);
  try {
    const { size, mtime } = await file.stat();
    const receivedAt = mtime.toISOString();
    const origin = path;
    if (size <= mailLimits.rawBytes) return { raw: new Uint8Array(await file.readFile()), receivedAt, origin };
    const head = new Uint8Array(mailLimits.headerBytes);
    const { bytesRead } = await file.read(head);
    return { raw: head.subarray(0, bytesRead), receivedAt, origin, tooLong: size };
  } finally {
    await file.close();
  }
}

/** Windows does not allow colons in file names, so programs write `;` or `!` instead. */
function parseFlags(name: string): MailFlag[] {
  const info = /[:;!]2,([A-Za-z]*)$/.exec(name)?.[1] ?? '';
  return [...new Set(info)].map((letter) => letters[letter]).filter((flag) => flag !== undefined);
}

/** Names of the files, in order; none if the folder does not exist. */
async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The parts of a folder's name in a Maildir++ tree: `.Clients.Ada` is `Clients`, `Ada`. */
export const decodeMaildirPath = (name: string): string[] => name.slice(1).split('.').map(fromModifiedUtf7);

/** RFC 3501, section 5.1.3: `Entw&APw-rfe` is `Entwürfe`. */
function fromModifiedUtf7(text: string): string {
  return text.replace(/&([A-Za-z0-9+,]*)-/g, (whole, packed: string) => {
    if (packed === '') return '&';
    const bytes = Buffer.from(packed.replaceAll(',', '/'), 'base64');
    return bytes.length >= 2
      ? bytes
          .subarray(0, bytes.length & ~1)
          .swap16()
          .toString('utf16le')
      : whole;
  });
}
