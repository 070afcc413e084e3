import { formatActor } from '../identity/caller.ts';
import { importMail } from '../mail/store/import-mail.ts';
import type { MailboxRef, MailFlags } from '../mail/store/incoming-mail.ts';
import { destroyEmails, moveEmails } from '../mail/store/move-mail.ts';
import { resolveMailbox } from '../mail/store/resolve-mailbox.ts';
import { ApiError } from '../protocol/api-error.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { recordNotFound, requireGrant } from '../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../records/read/visible-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { getRules } from '../records/system/system-rules.ts';
import { findVisibleAccount } from '../records/visible-account.ts';
import { withAllFields } from '../records/with-grants.ts';
import { updateRecords } from '../records/write/write-records.ts';
import { isMailboxPath, mailboxPathDescription } from '../schema/mailbox-path.ts';
import { mediaTypeUnsupported } from './error-reply.ts';
import { isDryRun, readKnownParameters } from './known-parameters.ts';
import { composeActions } from './mail-compose.ts';
import { runExport } from './mail-export.ts';
import { runGetImage } from './mail-image.ts';
import { runGetAttachment, runGetConversation, runGetEmail, runGetRaw } from './mail-reads.ts';
import { readBodyObject, refuseRowFilter } from './mail-request.ts';
import { type PerformWriteOptions, performWrite } from './perform-write.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';

/** Mail, beside the generated actions. */
export const mailActions: Readonly<Record<string, SystemAction>> = {
  'emails:get': { reads: true, run: runGetEmail },
  'emails:raw': { reads: true, run: runGetRaw },
  'emails:image': { reads: true, run: runGetImage },
  'emails:export': { reads: true, run: runExport },
  'conversations:get': { reads: true, run: runGetConversation },
  'attachments:get': { reads: true, run: runGetAttachment },
  ...composeActions,
  'emails:import': { reads: false, run: runImport },
  'accounts:rethread': { reads: false, run: runRethread },
  'emails:move': { reads: false, storesReply: true, run: runMove },
  'emails:destroy': { reads: false, storesReply: true, run: runDestroy },
  'emails:batchUpdate': { reads: false, storesReply: true, run: runBatchUpdate },
};

const maxKeys = 1000;
/** As many are changed while the event loop waits: some milliseconds. */
const maxKeysOnEventLoop = 20;

/** Stores the messages of an upload: one raw message, or an mbox of any length. */
async function runImport(request: RequestContext): Promise<ActionResult> {
  const { application, upload, caller, requestId } = request;
  const context = getRecordContext(request);
  requireFullWriteAccess(context);
  const names = ['account', 'mailbox', 'flags', 'receivedAt'];
  const { account: named, mailbox, flags, receivedAt } = readKnownParameters(request, names, false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', 'account: name the account by its id or its address.');
  if (mailbox !== undefined && !isMailboxPath(mailbox))
    throw new ApiError('PARAMETER_INVALID', `"mailbox" must be ${mailboxPathDescription}.`);
  const known = { flags: parseFlags(flags), receivedAt: parseReceivedAt(receivedAt) };
  if (!upload) throw mediaTypeUnsupported('Upload one message/rfc822, or an application/mbox.');
  const account = await findVisibleAccount(context, named);
  refuseRowFilter(context);
  const findOrCreateMailbox = (path: string): Promise<MailboxRef> => resolveMailbox(context, account.id, path);
  const isOne = upload.type === 'message/rfc822';
  const placement = mailbox !== undefined || isOne ? await findOrCreateMailbox(mailbox ?? 'INBOX') : null;
  const importTarget = { account, mailbox: placement, mailboxAt: findOrCreateMailbox, ...known };
  const report = await importMail(application.mail, importTarget, upload, { actor: formatActor(caller), requestId });
  return { data: JSON.stringify(report) };
}

const flagNames = ['read', 'starred', 'answered', 'draft'] as const;

function parseFlags(input: unknown): MailFlags | null {
  if (input === undefined) return null;
  const names = typeof input === 'string' ? input.split(',').filter((name) => name !== '') : null;
  if (!names?.every((name) => flagNames.some((flag) => flag === name)))
    throw new ApiError('PARAMETER_INVALID', `"flags" must be a list of ${flagNames.join(', ')}, separated by commas.`);
  const has = (flag: string): boolean => names.includes(flag);
  return { read: has('read'), starred: has('starred'), answered: has('answered'), draft: has('draft') };
}

function parseReceivedAt(input: unknown): string | null {
  if (input === undefined) return null;
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
  const time = typeof input === 'string' && form.test(input) ? Date.parse(input) : Number.NaN;
  if (Number.isNaN(time))
    throw new ApiError('PARAMETER_INVALID', '"receivedAt" must be a date and time, such as 2026-03-01T09:30:00Z.');
  return new Date(time).toISOString();
}

/** A message says something of every field: it is brought in by who may write them all. */
function requireFullWriteAccess(context: RecordContext): void {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, 'create');
  const denied = emails.fields.find((field) => field.core && !field.hidden && !grant.may(field));
  if (denied)
    throw new ApiError('FIELD_DENIED', `The role may not write "${denied.name}" of emails, and so bring none in.`);
}

/** Makes the conversations of an account anew; others go on meanwhile. */
async function runRethread(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId } = request;
  const context = getRecordContext(request);
  const accounts = context.registry.get('accounts');
  const grant = requireGrant(context, accounts, 'update');
  const { filterByTk } = readKnownParameters(request, ['filterByTk'], false);
  readBodyObject(request, []);
  if (filterByTk === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by filterByTk.');
  const account = await findVisibleAccount(context, String(filterByTk));
  const visibleAccounts = await readVisibleRecords(
    context,
    accounts,
    withAllFields(grant),
    createVisibilityQuery(null),
    [account.id],
  );
  if (visibleAccounts.size === 0) throw recordNotFound(accounts, grant);
  const report = await application.mail.rebuildConversations(account, { actor: formatActor(caller), requestId });
  if (report) return { data: JSON.stringify(report) };
  throw new ApiError(
    'RETHREAD_RUNNING',
    'The conversations of this account are being made anew already; wait for that.',
    {
      retryAfter: 5,
    },
  );
}

async function runMove(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  const emails = context.registry.get('emails');
  if (!requireGrant(context, emails, 'update').may(emails.byName.get('mailbox')!))
    throw new ApiError('FIELD_DENIED', 'The role may not write "mailbox" of emails, and so not move them.');
  const { dryRun, filterByTk } = readKnownParameters(request, ['filterByTk']);
  const { mailbox, from = null, ...rest } = readBodyObject(request, ['ids', 'mailbox', 'from']);
  if (typeof mailbox !== 'number' && (typeof mailbox !== 'string' || mailbox === ''))
    throw new ApiError('BODY_INVALID', 'mailbox: name the mailbox by its path, its role or its id.');
  if (from !== null && typeof from !== 'number' && (typeof from !== 'string' || from === ''))
    throw new ApiError(
      'BODY_INVALID',
      'from: name the mailbox that the e-mails leave by its path, its role or its id.',
    );
  const keys = parseKeys(filterByTk, rest['ids']);
  return performWrite(request, context, buildWriteOptions(keys, dryRun), async (tx) => ({
    data: String(await moveEmails(tx, keys, mailbox, from)),
  }));
}

async function runDestroy(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireGrant(context, context.registry.get('emails'), 'destroy');
  const { dryRun, filterByTk, force } = readKnownParameters(request, ['filterByTk', 'force']);
  const keys = parseKeys(filterByTk, readBodyObject(request, ['ids'])['ids']);
  return performWrite(request, context, buildWriteOptions(keys, dryRun), async (tx) => ({
    data: String(await destroyEmails(tx, keys, isDryRun({ dryRun: force }))),
  }));
}

/** Flags of many e-mails, under the rules of an update of each. */
async function runBatchUpdate(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  const emails = context.registry.get('emails');
  requireGrant(context, emails, 'update');
  const { dryRun, filterByTk } = readKnownParameters(request, ['filterByTk']);
  const { ids, ...values } = readBodyObject(request, null);
  const keys = parseKeys(filterByTk, ids);
  return performWrite(request, context, buildWriteOptions(keys, dryRun), async (tx) => {
    const { data } = await updateRecords(tx, emails, requestByKeys('update', keys), {
      body: values,
      rules: getRules(emails),
    });
    return { data };
  });
}

/** Changes of many e-mails run off the event loop. */
function buildWriteOptions(keys: readonly number[], dryRun: unknown): PerformWriteOptions {
  return { dryRun: isDryRun({ dryRun }), joined: true, heavy: keys.length > maxKeysOnEventLoop };
}

/** The e-mails that a request names, in its query or as `ids` in its body. */
function parseKeys(filterByTk: unknown, ids: unknown): number[] {
  if ((filterByTk === undefined) === (ids === undefined))
    throw new ApiError('TARGET_MISSING', 'Name e-mails by filterByTk, or by "ids" in the body.');
  const { filterByTk: requested } = requestByKeys('update', filterByTk ?? ids);
  const list = Array.isArray(requested) ? requested : [requested];
  const keys = list.map((each: unknown) => (typeof each === 'string' && /^\d{1,16}$/.test(each) ? Number(each) : each));
  if (!keys.every((each): each is number => Number.isSafeInteger(each)))
    throw new ApiError('PARAMETER_INVALID', 'An e-mail is named by its id, a whole number.');
  if (keys.length === 0 || keys.length > maxKeys) throw new ApiError('LIMIT_EXCEEDED', `Name 1 to ${maxKeys} e-mails.`);
  return [...new Set(keys)];
}
