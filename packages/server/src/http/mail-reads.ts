/** Reads of mail as an inbox wants them: an e-mail with its text, a conversation with its e-mails, an attachment's bytes. */
import { decide } from '../access/grants.ts';
import { readRawBlob } from '../database/mail/email-rows.ts';
import { cleanFilename } from '../mail/parse/attachment-name.ts';
import { rasterTypes } from '../mail/remote-images.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { requireRelationAccess } from '../query/filter-plan.ts';
import { getRecord, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { runRecordAction } from './record-actions.ts';
import { type ActionResult, type FileResult, getRecordContext, type RequestContext } from './request-context.ts';

type JsonRecord = Record<string, unknown>;

/** An e-mail with text, safe HTML, headers and attachments, as far as the role may read them. */
export async function runGetEmail(request: RequestContext): Promise<ActionResult> {
  requireGet(request, 'emails');
  const { raw } = request.parameters();
  if (request.route.plain && raw !== undefined && raw !== 'false' && raw !== '0') return runGetRaw(request);
  const result = await getWithRelations(request, 'emails', ['content', 'attachments']);
  return transformResult(result, (email) => mergeContent(email));
}

/** A conversation with its e-mails, the oldest first. */
export async function runGetConversation(request: RequestContext): Promise<ActionResult> {
  const result = await getWithRelations(request, 'conversations', ['emails', 'emails.content', 'emails.attachments']);
  return transformResult(result, (conversation) => {
    const emails = conversation['emails'];
    return Array.isArray(emails)
      ? { ...conversation, emails: emails.map((each: JsonRecord) => mergeContent(each)) }
      : conversation;
  });
}

/** The bytes of an attachment; with `meta` what is known of them. */
export async function runGetAttachment(request: RequestContext): Promise<ActionResult> {
  requireGet(request, 'attachments');
  const { meta, ...rest } = request.parameters();
  const asBytes = request.route.plain && (meta === undefined || meta === 'false' || meta === '0');
  if (!asBytes) return runRecordAction(withParameters(request, rest));
  const context = getRecordContext(request);
  const recordRequest = normaliseRequest('get', { ...rest, fields: undefined }, true);
  // Whoever may not read what an attachment is may not have it either.
  const { data } = await getRecord(context, context.registry.get('attachments'), recordRequest);
  const attachment = JSON.parse(data) as JsonRecord;
  const { sha256, accountId, filename } = attachment;
  if (typeof sha256 !== 'string' || typeof accountId !== 'number')
    throw new ApiError('FIELD_DENIED', 'The role may not read "sha256" of attachments, and so not its bytes.');
  return openBlobResult(request, accountId, sha256, {
    filename: (filename as string | null) ?? null,
    inlineType: toInlineType(attachment['sniffedType']),
  });
}

async function openBlobResult(
  { application, retain }: RequestContext,
  account: number,
  hash: string,
  as: Pick<FileResult, 'filename' | 'inlineType' | 'downloadType'>,
): Promise<ActionResult> {
  const file = await application.mail.blobs.open(account, hash);
  if (!file) throw new ApiError('RECORD_UNKNOWN', 'The bytes are gone.');
  const lease = retain();
  return { file, hash, done: () => lease.release(), ...as };
}

/** The message as it came, for a role that may read all of it. */
export async function runGetRaw(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireFullReadAccess(context, 'get');
  const { raw: _, ...rest } = request.parameters();
  const { data } = await getRecord(context, context.registry.get('emails'), normaliseRequest('get', rest, true));
  const { id, subject } = JSON.parse(data) as { id: number; subject: string | null };
  const stored = await readRawBlob(context.database, Number(id));
  if (!stored) throw new ApiError('RECORD_UNKNOWN', 'The e-mail is gone.');
  const filename = `${cleanFilename((subject ?? '').slice(0, 100).toWellFormed()) ?? 'message'}.eml`;
  return openBlobResult(request, stored.account, stored.sha256, {
    filename,
    inlineType: null,
    downloadType: 'message/rfc822',
  });
}

/**
 * In the bytes of a message is all that is known of it: they are for those who may read every field of e-mails and of their
 * attachments.
 *
 * @throws ApiError 403
 */
export function requireFullReadAccess(context: RecordContext, action: 'get' | 'list'): void {
  const { registry, caller, access } = context;
  for (const name of ['emails', 'attachments']) {
    const collection = registry.get(name);
    const grant = requireGrant(context, collection, name === 'emails' ? action : 'get');
    const hidden = collection.fields.find((field) => field.core && !field.hidden && !grant.may(field));
    if (hidden)
      throw new ApiError('FIELD_DENIED', `The role may not read "${hidden.name}" of ${name}, and so no whole message.`);
  }
  if (decide(caller.role, 'attachments', 'get', { table: access, registry }).row?.filter)
    throw new ApiError('NO_PERMISSION', 'A role with a row filter on attachments reads no whole messages.');
}

/** Types that a browser shows without running anything, where the bytes are what they say. */
function toInlineType(sniffed: unknown): string | null {
  if (sniffed === 'text/plain') return 'text/plain; charset=utf-8';
  const inlineTypes = [...rasterTypes, 'application/pdf'];
  return inlineTypes.includes(sniffed as string) ? (sniffed as string) : null;
}

/** A get that follows relations without being asked, where its caller names no fields, as far as the role may. */
async function getWithRelations(
  request: RequestContext,
  resource: string,
  paths: readonly string[],
): Promise<ActionResult> {
  requireGet(request, resource);
  const parameters = request.parameters();
  if (['fields', 'except', 'appends'].some((name) => parameters[name] !== undefined)) return runRecordAction(request);
  const context = getRecordContext(request);
  return runRecordAction(
    withParameters(request, { ...parameters, appends: paths.filter((path) => mayFollow(context, resource, path)) }),
  );
}

/** Before the parameters: who may not get anything learns nothing about them. */
function requireGet(request: RequestContext, resource: string): void {
  const context = getRecordContext(request);
  requireGrant(context, context.registry.get(resource), 'get');
}

function withParameters(request: RequestContext, parameters: JsonRecord): RequestContext {
  return { ...request, recordRequest: () => normaliseRequest('get', parameters, request.method !== 'POST') };
}

function mayFollow({ registry, findGrant }: RecordContext, resource: string, path: string): boolean {
  let source = registry.get(resource);
  for (const name of path.split('.')) {
    const field = source.byName.get(name)!;
    const targetCollection = registry.get(field.relation!.target);
    try {
      if (!findGrant(source.name, 'get')?.may(field)) return false;
      requireRelationAccess(field, source, targetCollection, findGrant, registry);
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
    source = targetCollection;
  }
  return true;
}

/** What lies beside an e-mail in storage is a part of it. */
function mergeContent({ content, ...email }: JsonRecord): JsonRecord {
  if (content === null || typeof content !== 'object') return email;
  const { id: _, accountId: __, rawSha256: ___, ...rest } = content as JsonRecord;
  const { attachments, ...emailValues } = email;
  return { ...emailValues, ...rest, ...(attachments !== undefined && { attachments }) };
}

function transformResult(result: ActionResult, change: (record: JsonRecord) => JsonRecord): ActionResult {
  if (!('data' in result)) return result;
  return { ...result, data: JSON.stringify(change(parseExactJson(result.data) as JsonRecord)) };
}
