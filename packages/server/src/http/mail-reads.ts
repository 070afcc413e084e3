/** Reads of mail as an inbox wants them: an e-mail with its text, a conversation with its e-mails, an attachment's bytes. */
import { decide } from '../access/grants.ts';
import { rawOf } from '../database/mail/email-rows.ts';
import { cleanFilename } from '../mail/parse/attachment-name.ts';
import { rasterTypes } from '../mail/remote-images.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { relatedAccess } from '../query/filter-plan.ts';
import { getRecord, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { type Answer, type Call, contextOf, type FileAnswer } from './call.ts';
import { runRecordAction } from './record-actions.ts';

type Shown = Record<string, unknown>;

/** An e-mail with text, safe HTML, headers and attachments, as far as the role may read them. */
export async function runGetEmail(call: Call): Promise<Answer> {
  requireGet(call, 'emails');
  const { raw } = call.parameters();
  if (call.route.plain && raw !== undefined && raw !== 'false' && raw !== '0') return runGetRaw(call);
  const answer = await getWith(call, 'emails', ['content', 'attachments']);
  return flattened(answer, (email) => withContent(email));
}

/** A conversation with its e-mails, the oldest first. */
export async function runGetConversation(call: Call): Promise<Answer> {
  const answer = await getWith(call, 'conversations', ['emails', 'emails.content', 'emails.attachments']);
  return flattened(answer, (conversation) => {
    const emails = conversation['emails'];
    return Array.isArray(emails)
      ? { ...conversation, emails: emails.map((each: Shown) => withContent(each)) }
      : conversation;
  });
}

/** The bytes of an attachment; with `meta` what is known of them. */
export async function runGetAttachment(call: Call): Promise<Answer> {
  requireGet(call, 'attachments');
  const { meta, ...rest } = call.parameters();
  const asBytes = call.route.plain && (meta === undefined || meta === 'false' || meta === '0');
  if (!asBytes) return runRecordAction(readAs(call, rest));
  const context = contextOf(call);
  const asked = normaliseRequest('get', { ...rest, fields: undefined }, true);
  // Whoever may not read what an attachment is may not have it either.
  const { data } = await getRecord(context, context.registry.get('attachments'), asked);
  const shown = JSON.parse(data) as Shown;
  const { sha256, accountId, filename } = shown;
  if (typeof sha256 !== 'string' || typeof accountId !== 'number')
    throw new ApiError('FIELD_DENIED', 'The role may not read "sha256" of attachments, and so not its bytes.');
  return bytesOf(call, accountId, sha256, {
    filename: (filename as string | null) ?? null,
    shownAs: shownAs(shown['sniffedType']),
  });
}

async function bytesOf(
  { application, hold }: Call,
  account: number,
  hash: string,
  as: Pick<FileAnswer, 'filename' | 'shownAs' | 'downloadedAs'>,
): Promise<Answer> {
  const file = await application.mail.blobs.open(account, hash);
  if (!file) throw new ApiError('RECORD_UNKNOWN', 'The bytes are gone.');
  const held = hold();
  return { file, hash, done: () => held.release(), ...as };
}

/** The message as it came, for a role that may read all of it. */
export async function runGetRaw(call: Call): Promise<Answer> {
  const context = contextOf(call);
  requireWhole(context, 'get');
  const { raw: _, ...rest } = call.parameters();
  const { data } = await getRecord(context, context.registry.get('emails'), normaliseRequest('get', rest, true));
  const { id, subject } = JSON.parse(data) as { id: number; subject: string | null };
  const stored = await rawOf(context.database, Number(id));
  if (!stored) throw new ApiError('RECORD_UNKNOWN', 'The e-mail is gone.');
  const filename = `${cleanFilename((subject ?? '').slice(0, 100).toWellFormed()) ?? 'message'}.eml`;
  return bytesOf(call, stored.account, stored.sha256, { filename, shownAs: null, downloadedAs: 'message/rfc822' });
}

/**
 * In the bytes of a message is all that is known of it: they are for those who may read every field of e-mails and of their
 * attachments.
 *
 * @throws ApiError 403
 */
export function requireWhole(context: RecordContext, action: 'get' | 'list'): void {
  const { registry, caller, access } = context;
  for (const name of ['emails', 'attachments']) {
    const collection = registry.get(name);
    const grant = requireGrant(context, collection, name === 'emails' ? action : 'get');
    const hidden = collection.fields.find((field) => field.core && !field.hidden && !grant.may(field));
    if (hidden)
      throw new ApiError('FIELD_DENIED', `The role may not read "${hidden.name}" of ${name}, and so no whole message.`);
  }
  if (decide(caller.role, 'attachments', 'get', access, registry).row?.filter)
    throw new ApiError('NO_PERMISSION', 'A role with a row filter on attachments reads no whole messages.');
}

/** Types that a browser shows without running anything, where the bytes are what they say. */
function shownAs(sniffed: unknown): string | null {
  if (sniffed === 'text/plain') return 'text/plain; charset=utf-8';
  const shown = [...rasterTypes, 'application/pdf'];
  return shown.includes(sniffed as string) ? (sniffed as string) : null;
}

/** A get that follows relations without being asked, where its caller names no fields, as far as the role may. */
async function getWith(call: Call, resource: string, paths: readonly string[]): Promise<Answer> {
  requireGet(call, resource);
  const parameters = call.parameters();
  if (['fields', 'except', 'appends'].some((name) => parameters[name] !== undefined)) return runRecordAction(call);
  const context = contextOf(call);
  return runRecordAction(
    readAs(call, { ...parameters, appends: paths.filter((path) => mayFollow(context, resource, path)) }),
  );
}

/** Before the parameters: who may not get anything learns nothing about them. */
function requireGet(call: Call, resource: string): void {
  const context = contextOf(call);
  requireGrant(context, context.registry.get(resource), 'get');
}

function readAs(call: Call, parameters: Shown): Call {
  return { ...call, request: () => normaliseRequest('get', parameters, call.method !== 'POST') };
}

function mayFollow({ registry, grantOf }: RecordContext, resource: string, path: string): boolean {
  let source = registry.get(resource);
  for (const name of path.split('.')) {
    const field = source.byName.get(name)!;
    const target = registry.get(field.relation!.target);
    try {
      if (!grantOf(source.name, 'get')?.may(field)) return false;
      relatedAccess(field, source, target, grantOf, registry);
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
    source = target;
  }
  return true;
}

/** What lies beside an e-mail in storage is a part of it. */
function withContent({ content, ...email }: Shown): Shown {
  if (content === null || typeof content !== 'object') return email;
  const { id: _, accountId: __, rawSha256: ___, ...rest } = content as Shown;
  const { attachments, ...own } = email;
  return { ...own, ...rest, ...(attachments !== undefined && { attachments }) };
}

function flattened(answer: Answer, change: (record: Shown) => Shown): Answer {
  if (!('data' in answer)) return answer;
  return { ...answer, data: JSON.stringify(change(parseExactJson(answer.data) as Shown)) };
}
