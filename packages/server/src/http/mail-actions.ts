import { actorOf } from '../identity/caller.ts';
import { importMail } from '../mail/store/import-mail.ts';
import type { MailboxPlace, MailFlags } from '../mail/store/incoming-mail.ts';
import { mailboxPlace } from '../mail/store/mailbox-place.ts';
import { destroyEmails, moveEmails } from '../mail/store/move-mail.ts';
import { ApiError } from '../protocol/api-error.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import { accountInSight } from '../records/mail-account.ts';
import { missing, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { recordsInSight, sightOf } from '../records/records-in-sight.ts';
import { rulesOf } from '../records/system/rules-of.ts';
import { withAllFields } from '../records/with-grants.ts';
import { updateRecords } from '../records/write-records.ts';
import { isMailboxPath, mailboxPathForm } from '../schema/mailbox-path.ts';
import { type Answer, type Call, contextOf, type SystemAction } from './call.ts';
import { mediaTypeUnsupported } from './error-reply.ts';
import { isTrial, knownParameters } from './known-parameters.ts';
import { composeActions } from './mail-compose.ts';
import { runExport } from './mail-export.ts';
import { runGetImage } from './mail-image.ts';
import { runGetAttachment, runGetConversation, runGetEmail, runGetRaw } from './mail-reads.ts';
import { bodyOf, refuseFiltered } from './mail-request.ts';
import { performWrite, type WriteManner } from './perform-write.ts';

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
  'emails:move': { reads: false, keepsReply: true, run: runMove },
  'emails:destroy': { reads: false, keepsReply: true, run: runDestroy },
  'emails:batchUpdate': { reads: false, keepsReply: true, run: runBatchUpdate },
};

const mostKeys = 1000;
/** As many are changed while the event loop waits: some milliseconds. */
const mostKeysAtOnce = 20;

/** Stores the messages of an upload: one raw message, or an mbox of any length. */
async function runImport(call: Call): Promise<Answer> {
  const { application, upload, caller, requestId } = call;
  const context = contextOf(call);
  requireWholeWriter(context);
  const names = ['account', 'mailbox', 'flags', 'receivedAt'];
  const { account: named, mailbox, flags, receivedAt } = knownParameters(call, names, false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', 'account: name the account by its id or its address.');
  if (mailbox !== undefined && !isMailboxPath(mailbox))
    throw new ApiError('PARAMETER_INVALID', `"mailbox" must be ${mailboxPathForm}.`);
  const known = { flags: readFlags(flags), receivedAt: readReceivedAt(receivedAt) };
  if (!upload) throw mediaTypeUnsupported('Upload one message/rfc822, or an application/mbox.');
  const account = await accountInSight(context, named);
  refuseFiltered(context);
  const mailboxAt = (path: string): Promise<MailboxPlace> => mailboxPlace(context, account.id, path);
  const isOne = upload.type === 'message/rfc822';
  const place = mailbox !== undefined || isOne ? await mailboxAt(mailbox ?? 'INBOX') : null;
  const target = { account, mailbox: place, mailboxAt, ...known };
  const report = await importMail(application.mail, target, upload, { actor: actorOf(caller), requestId });
  return { data: JSON.stringify(report) };
}

const flagNames = ['read', 'starred', 'answered', 'draft'] as const;

function readFlags(written: unknown): MailFlags | null {
  if (written === undefined) return null;
  const names = typeof written === 'string' ? written.split(',').filter((name) => name !== '') : null;
  if (!names?.every((name) => flagNames.some((flag) => flag === name)))
    throw new ApiError('PARAMETER_INVALID', `"flags" must be a list of ${flagNames.join(', ')}, separated by commas.`);
  const has = (flag: string): boolean => names.includes(flag);
  return { read: has('read'), starred: has('starred'), answered: has('answered'), draft: has('draft') };
}

function readReceivedAt(written: unknown): string | null {
  if (written === undefined) return null;
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
  const moment = typeof written === 'string' && form.test(written) ? Date.parse(written) : Number.NaN;
  if (Number.isNaN(moment))
    throw new ApiError('PARAMETER_INVALID', '"receivedAt" must be a date and time, such as 2026-03-01T09:30:00Z.');
  return new Date(moment).toISOString();
}

/** A message says something of every field: it is brought in by who may write them all. */
function requireWholeWriter(context: RecordContext): void {
  const emails = context.registry.get('emails');
  const grant = requireGrant(context, emails, 'create');
  const denied = emails.fields.find((field) => field.core && !field.hidden && !grant.may(field));
  if (denied)
    throw new ApiError('FIELD_DENIED', `The role may not write "${denied.name}" of emails, and so bring none in.`);
}

/** Makes the conversations of an account anew; others go on meanwhile. */
async function runRethread(call: Call): Promise<Answer> {
  const { application, caller, requestId } = call;
  const context = contextOf(call);
  const accounts = context.registry.get('accounts');
  const grant = requireGrant(context, accounts, 'update');
  const { filterByTk } = knownParameters(call, ['filterByTk'], false);
  bodyOf(call, []);
  if (filterByTk === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by filterByTk.');
  const account = await accountInSight(context, String(filterByTk));
  const reached = await recordsInSight(context, accounts, withAllFields(grant), sightOf(null), [account.id]);
  if (reached.size === 0) throw missing(accounts, grant);
  const made = await application.mail.rethread(account, { actor: actorOf(caller), requestId });
  if (made) return { data: JSON.stringify(made) };
  throw new ApiError(
    'RETHREAD_RUNNING',
    'The conversations of this account are being made anew already; wait for that.',
    {
      retryAfter: 5,
    },
  );
}

async function runMove(call: Call): Promise<Answer> {
  const context = contextOf(call);
  const emails = context.registry.get('emails');
  if (!requireGrant(context, emails, 'update').may(emails.byName.get('mailbox')!))
    throw new ApiError('FIELD_DENIED', 'The role may not write "mailbox" of emails, and so not move them.');
  const { dryRun, filterByTk } = knownParameters(call, ['filterByTk']);
  const { mailbox, from = null, ...rest } = bodyOf(call, ['ids', 'mailbox', 'from']);
  if (typeof mailbox !== 'number' && (typeof mailbox !== 'string' || mailbox === ''))
    throw new ApiError('BODY_INVALID', 'mailbox: name the mailbox by its path, its role or its id.');
  if (from !== null && typeof from !== 'number' && (typeof from !== 'string' || from === ''))
    throw new ApiError(
      'BODY_INVALID',
      'from: name the mailbox that the e-mails leave by its path, its role or its id.',
    );
  const keys = keysOf(filterByTk, rest['ids']);
  return performWrite(call, context, mannerOf(keys, dryRun), async (inside) => ({
    data: String(await moveEmails(inside, keys, mailbox, from)),
  }));
}

async function runDestroy(call: Call): Promise<Answer> {
  const context = contextOf(call);
  requireGrant(context, context.registry.get('emails'), 'destroy');
  const { dryRun, filterByTk, force } = knownParameters(call, ['filterByTk', 'force']);
  const keys = keysOf(filterByTk, bodyOf(call, ['ids'])['ids']);
  return performWrite(call, context, mannerOf(keys, dryRun), async (inside) => ({
    data: String(await destroyEmails(inside, keys, isTrial({ dryRun: force }))),
  }));
}

/** Flags of many e-mails, under the rules of an update of each. */
async function runBatchUpdate(call: Call): Promise<Answer> {
  const context = contextOf(call);
  const emails = context.registry.get('emails');
  requireGrant(context, emails, 'update');
  const { dryRun, filterByTk } = knownParameters(call, ['filterByTk']);
  const { ids, ...values } = bodyOf(call, null);
  const keys = keysOf(filterByTk, ids);
  return performWrite(call, context, mannerOf(keys, dryRun), async (inside) => {
    const { data } = await updateRecords(inside, emails, requestByKeys('update', keys), values, null, rulesOf(emails));
    return { data };
  });
}

/** Changes of many e-mails run off the event loop. */
function mannerOf(keys: readonly number[], dryRun: unknown): WriteManner {
  return { dryRun: isTrial({ dryRun }), joined: true, heavy: keys.length > mostKeysAtOnce };
}

/** The e-mails that a request names, in its query or as `ids` in its body. */
function keysOf(filterByTk: unknown, ids: unknown): number[] {
  if ((filterByTk === undefined) === (ids === undefined))
    throw new ApiError('TARGET_MISSING', 'Name e-mails by filterByTk, or by "ids" in the body.');
  const { filterByTk: asked } = requestByKeys('update', filterByTk ?? ids);
  const list = Array.isArray(asked) ? asked : [asked];
  const keys = list.map((each: unknown) => (typeof each === 'string' && /^\d{1,16}$/.test(each) ? Number(each) : each));
  if (!keys.every((each): each is number => Number.isSafeInteger(each)))
    throw new ApiError('PARAMETER_INVALID', 'An e-mail is named by its id, a whole number.');
  if (keys.length === 0 || keys.length > mostKeys)
    throw new ApiError('LIMIT_EXCEEDED', `Name 1 to ${mostKeys} e-mails.`);
  return [...new Set(keys)];
}
