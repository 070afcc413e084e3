/** Reads of mail as an inbox needs them: an e-mail with its content, a conversation with its e-mails, the bytes of an attachment. */
import { readRawBlob } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { requireRelationAccess } from '../../query/filter-plan.ts';
import { getRecord, requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { type Collection, getField } from '../../schema/registry.ts';
import type { MailStore } from '../mail-store.ts';
import { cleanFilename } from '../parse/attachment-name.ts';
import { addReadableHeaders, lacksSomeHeaders } from '../readable-content.ts';
import { rasterTypes } from '../remote-images.ts';
import { bodyRemoteError } from '../store/body-remote.ts';
import { requireEmailGrant, requireFullReadAccess } from './mail-access.ts';
import type { BodyValues, MailData, MailFile, MailRequest } from './mail-request.ts';

type JsonRecord = Record<string, unknown>;

const emailPaths = ['content', 'attachments'];
/** Maximum number of bodies that one read of a conversation fetches from the mail server. */
const maxFetchedBodies = 10;
const conversationPaths = ['emails', 'emails.content', 'emails.attachments'];

/**
 * `emails:get`: an e-mail with text, safe HTML, headers and attachments, limited to the fields that the role may read.
 * By a plain path with `raw`: the message as it was received.
 */
export async function runGetEmail(request: MailRequest): Promise<MailData | MailFile> {
  requireEmailGrant(request.context, 'get'); // before the parameters: 403 comes before 400
  if (request.isPlain && isSet(request.parameters()['raw'])) return runGetRaw(request);
  const result = transformResult(await getWithRelations(request, 'emails', emailPaths), mergeContent);
  const { id, bodyState } = parseExactJson(result.data) as JsonRecord;
  if (bodyState !== 'partial' || !(await request.mail.fetchBody(Number(id)))) return result;
  return transformResult(await getWithRelations(request, 'emails', emailPaths), mergeContent);
}

/** An e-mail as `emails:get` shows it, by its key. */
export async function readWholeEmail(context: RecordContext, key: number): Promise<MailData> {
  const { emails } = requireEmailGrant(context, 'get');
  const appends = listReadablePaths(context, 'emails', emailPaths);
  const read = await getRecord(context, emails, normaliseRequest('get', { filterByTk: key, appends }, false));
  return transformResult(await completeHeaders(context, 'emails', read), mergeContent);
}

/** `conversations:get`: a conversation with its e-mails, the oldest first. */
export async function runGetConversation(request: MailRequest): Promise<MailData> {
  let result = await getWithRelations(request, 'conversations', conversationPaths);
  if (await fetchBodies(request.mail, result))
    result = await getWithRelations(request, 'conversations', conversationPaths);
  return transformResult(result, (conversation) => {
    const emails = conversation['emails'];
    return Array.isArray(emails)
      ? { ...conversation, emails: emails.map((each: JsonRecord) => mergeContent(each)) }
      : conversation;
  });
}

/**
 * Reads the bodies of the newest e-mails of a conversation that are not stored yet. One that cannot be read stays `partial`, so that
 * the conversation is still shown.
 *
 * @returns whether e-mails have changed.
 */
async function fetchBodies(mail: MailStore, { data }: MailData): Promise<boolean> {
  const { emails } = parseExactJson(data) as JsonRecord;
  if (!Array.isArray(emails)) return false;
  const partial = emails.filter(({ id, bodyState }: JsonRecord) => bodyState === 'partial' && id !== undefined);
  let hasChanged = false;
  for (const { id } of partial.reverse().slice(0, maxFetchedBodies) as JsonRecord[]) {
    try {
      if (!(await mail.fetchBody(Number(id)))) break;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // If the mail server cannot be read now, it cannot deliver the other bodies either.
      if (error.code !== 'MAIL_BODY_DELETED') break;
      continue;
    }
    hasChanged = true;
  }
  return hasChanged;
}

/** `attachments:get`: the metadata of an attachment; by a plain path without `meta` its bytes. */
export async function runGetAttachment(request: MailRequest): Promise<MailData | MailFile> {
  const { context } = request;
  const attachments = context.registry.get('attachments');
  requireGrant(context, attachments, 'get');
  const { meta, ...rest } = request.parameters();
  if (request.isPlain && !isSet(meta)) return getAttachmentBytes(request, attachments, rest);
  const { data, counter } = await getRecord(context, attachments, request.recordRequest(rest));
  return { data, counter };
}

/** Whether a parameter has a value that means true: `raw=1`. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== 'false' && value !== '0';
}

async function getAttachmentBytes(
  { context, mail }: Pick<MailRequest, 'context' | 'mail'>,
  attachments: Collection,
  parameters: BodyValues,
  isFetched = false,
): Promise<MailFile> {
  // A role that may not read the fields of an attachment may not read its bytes either.
  const { data } = await getRecord(
    context,
    attachments,
    normaliseRequest('get', { ...parameters, fields: undefined }, true),
  );
  const { id, state, emailId, ...record } = JSON.parse(data) as JsonRecord;
  if (state === 'remote') {
    if (isFetched || !(await mail.fetchBody(Number(emailId)))) throw bodyRemoteError();
    return getAttachmentBytes({ context, mail }, attachments, { filterByTk: id }, true);
  }
  const { sha256, accountId, filename, sniffedType } = record;
  if (typeof sha256 !== 'string' || typeof accountId !== 'number')
    throw new ApiError('FIELD_DENIED', 'The role may not read "sha256" of attachments, so it cannot read their bytes.');
  return openBlob(mail, accountId, sha256, {
    filename: (filename as string | null) ?? null,
    inlineType: toInlineType(sniffedType),
  });
}

/** `emails:raw`: the message as it was received, for roles that may read all of its fields. */
export async function runGetRaw(request: MailRequest, isFetched = false): Promise<MailFile> {
  const { context, mail, parameters } = request;
  const emails = context.registry.get('emails');
  requireFullReadAccess(context, 'get');
  const { raw: _, ...rest } = parameters();
  const { data } = await getRecord(context, emails, normaliseRequest('get', rest, true));
  const { id, subject, bodyState } = JSON.parse(data) as { id: number; subject: string | null; bodyState: unknown };
  if (bodyState === 'partial') {
    if (isFetched || !(await mail.fetchBody(Number(id)))) throw bodyRemoteError();
    return runGetRaw(request, true); // the permission may have been revoked meanwhile
  }
  const stored = await readRawBlob(context.database, Number(id));
  if (!stored) throw new ApiError('RECORD_UNKNOWN', 'The e-mail was deleted.');
  const filename = `${cleanFilename((subject ?? '').slice(0, 100).toWellFormed()) ?? 'message'}.eml`;
  return openBlob(mail, stored.account, stored.sha256, { filename, inlineType: null, downloadType: 'message/rfc822' });
}

async function openBlob(
  mail: MailStore,
  account: number,
  hash: string,
  presentation: Pick<MailFile, 'filename' | 'inlineType' | 'downloadType'>,
): Promise<MailFile> {
  const file = await mail.blobs.open(account, hash);
  if (!file) throw new ApiError('RECORD_UNKNOWN', 'The bytes were deleted.');
  return { file, hash, ...presentation };
}

/** Types that browsers display without executing anything, if the bytes match the type. */
function toInlineType(sniffed: unknown): string | null {
  if (sniffed === 'text/plain') return 'text/plain; charset=utf-8';
  const inlineTypes = [...rasterTypes, 'application/pdf'];
  return inlineTypes.find((type) => type === sniffed) ?? null;
}

/** Adds the default relations to a get without `fields` and `appends`, if the role may follow them. */
async function getWithRelations(
  { context, parameters, recordRequest }: MailRequest,
  resource: string,
  paths: readonly string[],
): Promise<MailData> {
  const collection = context.registry.get(resource);
  requireGrant(context, collection, 'get'); // before the parameters: 403 comes before 400
  const given = parameters();
  const isSelective = ['fields', 'except', 'appends'].some((name) => given[name] !== undefined);
  const request = isSelective
    ? recordRequest()
    : recordRequest({ ...given, appends: listReadablePaths(context, resource, paths) });
  const { data, counter } = await getRecord(context, collection, request);
  return isSelective ? { data, counter } : completeHeaders(context, resource, { data, counter });
}

async function completeHeaders(
  context: RecordContext,
  resource: string,
  { data, counter }: { readonly data: string; readonly counter: number },
): Promise<MailData> {
  if (!lacksSomeHeaders(context)) return { data, counter };
  const record = parseExactJson(data) as JsonRecord;
  const isChanged = await addReadableHeaders(context, resource, record);
  return { data: isChanged ? JSON.stringify(record) : data, counter };
}

function listReadablePaths(context: RecordContext, resource: string, paths: readonly string[]): string[] {
  return paths.filter((path) => mayFollow(context, resource, path));
}

function mayFollow({ registry, findGrant }: RecordContext, resource: string, path: string): boolean {
  let source = registry.get(resource);
  for (const name of path.split('.')) {
    const field = getField(source, name);
    if (!field.relation) return false;
    const target = registry.get(field.relation.target);
    try {
      if (!findGrant(source.name, 'get')?.may(field)) return false;
      requireRelationAccess(field, source, target, { registry, findGrant });
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
    source = target;
  }
  return true;
}

/** Merges the content, which is stored in a separate record, into the e-mail. */
function mergeContent({ content, ...email }: JsonRecord): JsonRecord {
  if (content === null || typeof content !== 'object') return email;
  const { id: _, accountId: __, rawSha256: ___, ...rest } = content as JsonRecord;
  const { attachments, ...emailValues } = email;
  return { ...emailValues, ...rest, ...(attachments !== undefined && { attachments }) };
}

function transformResult(result: MailData, change: (record: JsonRecord) => JsonRecord): MailData {
  return { ...result, data: JSON.stringify(change(parseExactJson(result.data) as JsonRecord)) };
}
