import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isMailboxPath, mailboxPathDescription } from '../collections/mailbox-path.ts';
import { importMail } from '../store/import-mail.ts';
import type { MailboxRef, MailFlags } from '../store/incoming-mail.ts';
import { resolveMailbox } from '../store/resolve-mailbox.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { refuseRowFilter, requireFullWriteAccess } from './mail-access.ts';
import { type MailData, type MailRequest, requireUpload } from './mail-request.ts';

/** `emails:import`: stores the messages of an upload, which is one raw message or an mbox of any length. */
export async function runImport(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireFullWriteAccess(context);
  const {
    account: named,
    mailbox,
    flags,
    receivedAt,
  } = request.knownParameters(['account', 'mailbox', 'flags', 'receivedAt'], false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', '"account" must be the id or the address of an account.');
  if (mailbox !== undefined && !isMailboxPath(mailbox))
    throw new ApiError('PARAMETER_INVALID', `"mailbox" must be ${mailboxPathDescription}.`);
  const known = { flags: parseFlags(flags), receivedAt: parseReceivedAt(receivedAt) };
  const upload = requireUpload(request, 'Upload one message/rfc822, or an application/mbox.');
  const account = await findVisibleAccount(context, named);
  refuseRowFilter(context);
  const mailboxAt = (path: string): Promise<MailboxRef> => resolveMailbox(context, account.id, path);
  const isOne = upload.type === 'message/rfc822';
  const placement = mailbox !== undefined || isOne ? await mailboxAt(mailbox ?? 'INBOX') : null;
  const actor = { actor: formatActor(context.caller), requestId: context.requestId };
  const report = await importMail(mail, { account, mailbox: placement, mailboxAt, ...known }, upload, actor);
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
