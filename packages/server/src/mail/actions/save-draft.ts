import { readFiles } from '../../database/mail/draft-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { mailInputNames, parseMailInput, parseNewFile } from '../compose/mail-input.ts';
import { prepareMail, storeDraft } from '../compose/write-mail.ts';
import { parseEmailKey } from './email-keys.ts';
import { requireWritable, requireWriter } from './mail-access.ts';
import { type MailData, type MailRequest, readBodyObject, requireUpload } from './mail-request.ts';
import { isDraftNamed, loadDraftBase, lockAccount, requireBooleans, showEmail, signMail } from './own-mail.ts';

/** `emails:saveDraft`: stores a new draft, or changes the members of a draft that the body names. */
export async function runSaveDraft(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  // A role without either grant is refused before the request is parsed.
  if (!context.findGrant('emails', 'update')) requireWriter(context, 'create');
  requireWriter(context, isDraftNamed(request) ? 'update' : 'create');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const {
    account,
    id,
    signature = false,
    ...rest
  } = readBodyObject(request, ['account', 'id', 'signature', ...mailInputNames]);
  const key = parseEmailKey(filterByTk, id);
  const written = parseMailInput(rest);
  requireBooleans({ signature });
  requireWritable(context, key === null ? 'create' : 'update', signature === true ? { ...rest, text: null } : rest);
  const storedResult = await request.findStoredResult();
  if (storedResult) return storedResult;
  const base = await loadDraftBase(request, key, account);
  const signed = signature === true ? await signMail(context, base, written) : written;
  const prepared = await prepareMail(request, base, signed, true);
  return request.write(lockAccount(prepared), async (tx) => showEmail(tx, await storeDraft(tx, mail, prepared)));
}

/** `emails:attach`: adds one file to a draft. The body is the bytes of the file. */
export async function runAttach(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireWriter(context, 'update');
  requireWritable(context, 'update', { attachments: [] });
  const {
    filterByTk,
    filename = null,
    contentType = 'application/octet-stream',
    contentId = null,
  } = request.knownParameters(['filterByTk', 'filename', 'contentType', 'contentId'], false);
  const upload = requireUpload(request, 'Upload the bytes of the file as application/octet-stream.');
  const key = parseEmailKey(filterByTk, undefined);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the draft by "filterByTk".');
  const base = await loadDraftBase(request, key, undefined);
  const file = parseNewFile(filename, contentType, contentId, await readUploadBytes(upload.bytes));
  if (typeof file === 'string') throw new ApiError('PARAMETER_INVALID', file);
  const existingFiles = await readFiles(context.database, { email: key });
  const files = [...existingFiles.map(({ id }) => ({ id })), file];
  if (files.length > mailLimits.files)
    throw invalidValues({ attachments: `A message has at most ${mailLimits.files} files.` });
  const prepared = await prepareMail(request, base, { files }, true);
  return request.write(lockAccount(prepared), async (tx) => {
    await storeDraft(tx, mail, prepared);
    return showEmail(tx, key);
  });
}

async function readUploadBytes(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    // An upload that is too long is read to its end, so that the client receives the error, but it is not stored.
    if (size <= mailLimits.fileBytes) pieces.push(piece);
    size += piece.length;
  }
  if (size > mailLimits.fileBytes)
    throw invalidValues({
      attachments: `The files of a message may have at most ${mailLimits.fileBytes} bytes in total.`,
    });
  return Buffer.concat(pieces);
}
