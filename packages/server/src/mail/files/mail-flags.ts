import { type Header, rawValues, readHeaders } from '../parse/header-block.ts';
import type { FileMessage, MailFlag } from './mail-file.ts';

/** Metadata that mail programs write into the headers of a message when they store it in a file. */
export type HeaderNotes = Pick<FileMessage, 'flags' | 'labels' | 'mailbox' | 'expunged'>;

const maxLabels = 50;
const maxLabelLength = 200;

/**
 * Reads flags, labels and folder from Status, X-Status, X-Mozilla-Status and X-Gmail-Labels. Unknown values are absent.
 *
 * @param mozilla whether Thunderbird wrote the file. In other files X-Mozilla-Status may come from the sender, who must not be
 *   able to mark the message as deleted.
 */
export function readHeaderNotes(raw: Uint8Array, mozilla: boolean): HeaderNotes {
  const { headers } = readHeaders(raw);
  const bits = mozilla ? mozillaBits(headers) : null;
  const notes = [statusFlags(headers), bits === null ? null : mozillaFlags(bits)].filter((each) => each !== null);
  const gmail = gmailNotes(headers);
  const flags = [...new Set([...notes.flat(), ...(gmail?.flags ?? [])])];
  return {
    ...(notes.length > 0 || gmail ? { flags } : {}),
    ...(bits !== null && (bits & expungedBit) !== 0 ? { expunged: true } : {}),
    ...(gmail ? { labels: gmail.labels, mailbox: gmail.mailbox } : {}),
  };
}

const statusLetters: Readonly<Record<string, MailFlag>> = {
  R: 'seen',
  A: 'answered',
  F: 'flagged',
  D: 'deleted',
  T: 'draft',
};

function statusFlags(headers: readonly Header[]): MailFlag[] | null {
  const values = [...rawValues(headers, 'status'), ...rawValues(headers, 'x-status')];
  if (values.length === 0) return null;
  return [...values.join('')].map((letter) => statusLetters[letter]).filter((flag) => flag !== undefined);
}

/** The message was deleted or moved. Its bytes stay in the file until the folder is compacted. */
const expungedBit = 0x0008;
const mozillaFlagBits: readonly (readonly [bit: number, flag: MailFlag])[] = [
  [0x0001, 'seen'],
  [0x0002, 'answered'],
  [0x0004, 'flagged'],
];

/** Thunderbird writes its headers above those of the message. */
function mozillaBits(headers: readonly Header[]): number | null {
  const written = rawValues(headers, 'x-mozilla-status')[0];
  return written && /^[\da-f]{4}$/i.test(written) ? Number.parseInt(written, 16) : null;
}

const mozillaFlags = (bits: number): MailFlag[] =>
  mozillaFlagBits.filter(([bit]) => (bits & bit) !== 0).map(([, flag]) => flag);

type SystemLabel = 'inbox' | 'sent' | 'drafts' | 'trash' | 'junk' | 'archive' | 'starred' | 'unread' | 'read';

/** Gmail's own labels, which Takeout writes in the language of the account: English, German, French, Spanish. */
const systemLabels: Readonly<Record<SystemLabel, readonly string[]>> = {
  inbox: ['inbox', 'posteingang', 'boîte de réception', 'recibidos'],
  sent: ['sent', 'gesendet', 'messages envoyés', 'enviado', 'enviados'],
  drafts: ['draft', 'drafts', 'entwürfe', 'brouillons', 'borradores'],
  trash: ['trash', 'papierkorb', 'corbeille', 'papelera'],
  junk: ['spam'],
  archive: ['archived', 'archiviert', 'messages archivés', 'archivado'],
  starred: ['starred', 'markiert', 'suivis', 'destacado', 'destacados'],
  unread: ['unread', 'ungelesen', 'non lus', 'no leído', 'no leídos'],
  read: ['opened', 'geöffnet', 'ouvert', 'abierto'],
};
const systemLabelByName = new Map(
  Object.entries(systemLabels).flatMap(([label, names]) => names.map((name) => [name, label as SystemLabel])),
);
/** Labels that are folders. The first one that a message has determines its folder. */
const folders: readonly (readonly [label: SystemLabel, path: string])[] = [
  ['trash', 'Trash'],
  ['junk', 'Spam'],
  ['drafts', 'Drafts'],
  ['inbox', 'INBOX'],
  ['sent', 'Sent'],
];

/** Parses the labels of Gmail as Takeout writes them. A message in none of Gmail's folders is archived. */
function gmailNotes(headers: readonly Header[]): Required<Omit<HeaderNotes, 'expunged'>> | null {
  const written = headers.find(({ name }) => name.toLowerCase() === 'x-gmail-labels')?.value;
  if (written === undefined) return null;
  const names = written
    .split(',')
    .map((name) => name.replace(/^[\s"]+|[\s"]+$/g, '').slice(0, maxLabelLength))
    .filter((name) => name !== '');
  const system = new Set(names.map((name) => systemLabelByName.get(name.toLowerCase())));
  const flags: MailFlag[] = [];
  if (!system.has('unread')) flags.push('seen');
  if (system.has('starred')) flags.push('flagged');
  if (system.has('drafts')) flags.push('draft');
  return {
    flags,
    labels: [...new Set(names.filter((name) => !systemLabelByName.has(name.toLowerCase())))].slice(0, maxLabels),
    mailbox: folders.find(([label]) => system.has(label))?.[1] ?? 'Archive',
  };
}
