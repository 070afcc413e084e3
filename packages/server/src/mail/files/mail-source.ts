import { createReadStream, type Dirent } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readEmlx } from './emlx-reader.ts';
import type { FileMessage } from './mail-file.ts';
import { decodeMaildirPath, readMaildir, readMessageFile } from './maildir-reader.ts';
import { readMbox } from './mbox-reader.ts';

/**
 * Reads all messages at a path, one at a time. The path is an mbox file, a single message, or a folder with mbox files
 * (Thunderbird profiles with their `.sbd` folders, Apple's `.mbox` folders, Takeout), `.eml` and `.emlx` files, and Maildirs
 * with their sub-folders. Symbolic links are not followed.
 *
 * @throws the error of the file system if the path does not exist.
 */
export async function* readMailSource(path: string): AsyncGenerator<FileMessage> {
  if ((await stat(path)).isDirectory()) yield* readFolder(path, []);
  else if (await beginsWithFrom(path)) yield* readMboxFile(path, undefined);
  else yield /\.emlx$/i.test(path) ? await readEmlx(path) : withoutTime(await readMessageFile(path));
}

/** @param names the path of the folder below the source, as names of mailboxes. */
async function* readFolder(folder: string, names: readonly string[]): AsyncGenerator<FileMessage> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  const has = (name: string): boolean => entries.some((entry) => entry.name === name && entry.isDirectory());
  const isMaildir = has('cur') || (has('new') && basename(folder).startsWith('.'));
  if (isMaildir) yield* withMailbox(readMaildir(folder), names.length > 0 ? names.join('/') : 'INBOX');
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile()) yield* readFile(path, names);
    else if (entry.isDirectory() && !isInternal(entry, isMaildir))
      yield* readFolder(path, namesBelow(entry.name, names));
  }
}

const maildirFolders = ['cur', 'new', 'tmp'];

/** Folders that are not mailboxes: those of a Maildir, attachments of Apple Mail, and hidden ones except Maildir++. */
function isInternal({ name }: Dirent, isMaildir: boolean): boolean {
  return (isMaildir && maildirFolders.includes(name)) || name === 'Attachments' || /^\.(?:\.|$|git$)/.test(name);
}

/** Folders in an Apple mailbox that only contain its messages. */
const appleFolder = /^(?:Messages|Data|\d|[\dA-F]{8}-[\dA-F-]{27})$/;

function namesBelow(name: string, names: readonly string[]): string[] {
  if (name.startsWith('.')) return [...names, ...decodeMaildirPath(name)];
  return appleFolder.test(name) ? [...names] : [...names, name.replace(/\.(?:sbd|mbox)$/i, '')];
}

async function* readFile(path: string, names: readonly string[]): AsyncGenerator<FileMessage> {
  const mailbox = names.join('/') || undefined;
  const name = basename(path);
  if (/\.eml$/i.test(name)) yield { ...withoutTime(await readMessageFile(path)), ...(mailbox && { mailbox }) };
  else if (/\.emlx$/i.test(name)) yield { ...(await readEmlx(path)), ...(mailbox && { mailbox }) };
  else if (/^[^.]+$|\.(?:mbox|mbx)$/i.test(name) && (await beginsWithFrom(path)))
    yield* readMboxFile(path, mboxMailbox(name, names));
}

/** `X.mbox/mbox` is X; the folders of a Thunderbird profile are below `Mail/<server>` and `ImapMail/<server>`. */
function mboxMailbox(name: string, names: readonly string[]): string {
  const above = /^(?:Imap)?Mail$/.test(names[0] ?? '') && names.length > 1 ? names.slice(2) : names;
  const ownNames = name === 'mbox' && above.length > 0 ? [] : [name.replace(/\.(?:mbox|mbx)$/i, '')];
  return [...above, ...ownNames].join('/');
}

async function* readMboxFile(path: string, mailbox: string | undefined): AsyncGenerator<FileMessage> {
  let number = 0;
  for await (const message of readMbox(createReadStream(path))) {
    number += 1;
    const mailboxPath = message.mailbox ?? mailbox;
    yield { ...message, origin: `${path}, message ${number}`, ...(mailboxPath ? { mailbox: mailboxPath } : {}) };
  }
}

async function* withMailbox(messages: AsyncIterable<FileMessage>, mailbox: string): AsyncGenerator<FileMessage> {
  for await (const message of messages) yield { ...message, mailbox };
}

/** The time of an `.eml` file is often the time of a copy, so the Date header is used instead. */
function withoutTime({ receivedAt: _, ...message }: FileMessage): FileMessage {
  return message;
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
