/** Files that a reply or a forwarded message takes from the e-mail that it refers to. */
import { readFiles } from '../../database/mail/draft-rows.ts';
import { readRawBlob } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { getField } from '../../schema/registry.ts';
import { cleanFilename } from '../parse/attachment-name.ts';
import type { MailFileInput } from './mail-input.ts';
import type { ReplyKind } from './reply-draft.ts';
import type { MailWriting } from './write-mail.ts';

interface OriginalFiles {
  /** The e-mail that is answered or forwarded. */
  readonly key: number;
  readonly kind: ReplyKind;
  /** The HTML of the new message; null for plain text. */
  readonly html: string | null;
}

/**
 * All files for a forwarded message. A reply takes the pictures that its HTML shows, because the quoted message names
 * them; without the permission to read attachments, it takes none.
 */
export async function selectOriginalFiles(
  context: RecordContext,
  { key, kind, html }: OriginalFiles,
): Promise<readonly MailFileInput[]> {
  if (kind !== 'forward' && (html === null || !mayReadBytes(context))) return [];
  const files = await readFiles(context.database, { email: key });
  const taken = kind === 'forward' ? files : files.filter(({ contentId }) => isShown(contentId, html ?? ''));
  return taken.map(({ id }) => ({ id }));
}

function mayReadBytes(context: RecordContext): boolean {
  const grant = context.findGrant('attachments', 'get');
  return grant?.may(getField(context.registry.get('attachments'), 'sha256')) === true;
}

/** Whether HTML shows the picture with a content id. */
function isShown(contentId: string | null, html: string): boolean {
  return contentId !== null && (html.includes(`data-cid="${contentId}"`) || html.includes(`"cid:${contentId}"`));
}

/**
 * The whole message as a file. The caller has checked that the role may read all of it.
 *
 * @throws ApiError `RECORD_UNKNOWN` if it was deleted meanwhile.
 */
export async function loadWholeMessage(
  { context, mail }: MailWriting,
  key: number,
  subject: string,
): Promise<MailFileInput> {
  const stored = await readRawBlob(context.database, key);
  const bytes = stored && (await mail.blobs.get(stored.account, stored.sha256));
  if (!bytes) throw new ApiError('RECORD_UNKNOWN', 'The e-mail was deleted.');
  const name = cleanFilename(subject.slice(0, 100).toWellFormed()) ?? 'message';
  return { filename: `${name}.eml`, contentType: 'message/rfc822', contentId: null, bytes: Buffer.from(bytes) };
}
