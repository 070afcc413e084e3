/**
 * Stores the large messages of a first synchronisation by their headers and their structure, so that all messages of a mailbox are
 * listed long before their bodies are here. `BodyDownload` reads the bodies afterwards.
 */
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { createPreview } from '../parse/text-preview.ts';
import type { PartialMessage } from '../store/server-mail.ts';
import type { MailboxState } from './mailbox-state.ts';
import type { DownloadParts } from './message-download.ts';
import { findFirstText, listRemoteAttachments } from './message-structure.ts';
import { isRefusal, type MessageEntry, type MessageHead, MoreThanNamed } from './sync-session.ts';

/** Messages of one command and one transaction, and bytes of headers that each may have on average. */
const chunkMessages = 50;
const headBytes = 32 * 1024;
/**
 * The first bytes of the text are read with the headers, for the snippet. The structure is not known before, so they are read of all parts
 * that usually are the first text: of a message without parts, of alternatives, and of alternatives with files or images.
 */
const beginnings = { parts: ['1', '1.1', '1.1.1'], bytes: 2048 };
const beginningBytes = beginnings.parts.length * beginnings.bytes;
/** Longer Message-IDs are stored shortened. */
const maxMessageId = 240;

/** Whether a message of a first synchronisation is large enough to be stored by its headers first. */
export function isHeadersFirst({ mailbox }: MailboxState, { size, flags }: MessageEntry): boolean {
  // A draft is edited: it is stored with all that belongs to it.
  return size > mailLimits.headersFirstBytes && mailbox.role !== 'drafts' && !flags.includes('\\Draft');
}

/**
 * Stores messages of the selected mailbox by their headers. Those that are not stored then are to be downloaded whole:
 *
 * - The server does not give their headers or their structure, or these exceed a limit.
 * - They have no Message-ID, or the account has a complete e-mail with the same one: only their bytes tell whether they are the same.
 * - They are reports about sent messages.
 *
 * @param store is called for each transaction.
 */
export async function storeHeads(
  parts: DownloadParts,
  entries: readonly MessageEntry[],
  store: (messages: readonly PartialMessage[]) => Promise<void>,
): Promise<void> {
  const { bytes, signal, serverMail, account } = parts;
  const newestFirst = [...entries].sort((one, other) => other.uid - one.uid);
  for (const chunk of splitIntoChunks(newestFirst, chunkMessages)) {
    const maxBytes = chunk.length * (headBytes + beginningBytes);
    const release = await bytes.acquire(maxBytes, signal);
    try {
      const messages = (await fetchHeads(parts, chunk, maxBytes)).flatMap(toPartialMessage);
      const messageIds = messages.flatMap(({ messageId }) => messageId ?? []);
      const complete = await serverMail.bodies.findCompleteMessageIds(account, messageIds);
      const wanted = messages.filter(({ messageId }) => messageId != null && !complete.has(messageId));
      if (wanted.length > 0) await store(wanted);
    } finally {
      release();
    }
  }
}

async function fetchHeads(
  { session }: DownloadParts,
  chunk: readonly MessageEntry[],
  maxBytes: number,
): Promise<readonly MessageHead[]> {
  const uids = chunk.map(({ uid }) => uid);
  // A server may refuse parts that a message does not have.
  for (const parts of [beginnings, null])
    try {
      return await session.fetchHeads(uids, maxBytes, parts);
    } catch (error) {
      if (error instanceof MoreThanNamed) return [];
      if (!isRefusal(error)) throw error;
    }
  return [];
}

function readSnippet(structure: NonNullable<MessageHead['structure']>, texts: MessageHead['beginnings']): string {
  const part = findFirstText(structure);
  const bytes = texts.get(part?.part ?? '1');
  if (!part || !bytes) return '';
  const { type, encoding = '', parameters } = part;
  return createPreview({
    type: type as 'text/plain' | 'text/html',
    encoding: encoding.toLowerCase(),
    charset: parameters?.['charset'] ?? null,
    bytes,
  });
}

/** @returns nothing where the message is to be downloaded whole. */
function toPartialMessage({ structure, messageId, beginnings: texts, ...head }: MessageHead): PartialMessage[] {
  if (!structure || structure.type === 'multipart/report' || head.headers.length > mailLimits.headerBytes) return [];
  const attachments = listRemoteAttachments(structure);
  const id = messageId?.replace(/^<|>$/g, '') ?? '';
  if (attachments === null || id === '' || id.length > maxMessageId) return [];
  return [{ ...head, messageId: id, attachments, snippet: readSnippet(structure, texts) }];
}
