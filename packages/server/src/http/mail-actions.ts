import { actorOf } from '../identity/caller.ts';
import { type ImportReport, importMail } from '../mail/store/import-mail.ts';
import { mailboxPlace } from '../mail/store/mailbox-place.ts';
import { ApiError } from '../protocol/api-error.ts';
import { accountInSight } from '../records/mail-account.ts';
import { requireGrant } from '../records/read-records.ts';
import { type Answer, type Call, contextOf, type SystemAction } from './call.ts';
import { mediaTypeUnsupported } from './error-reply.ts';
import { knownParameters } from './known-parameters.ts';

/** Mail, beside the generated actions. */
export const mailActions: Readonly<Record<string, SystemAction>> = {
  'emails:import': { reads: false, run: runImport },
};

/** Stores the messages of an upload: one raw message, or an mbox of any length. */
async function runImport(call: Call): Promise<Answer> {
  const { application, upload, caller, requestId } = call;
  const context = contextOf(call);
  const grant = requireGrant(context, context.registry.get('emails'), 'create');
  const { account: named, mailbox = 'INBOX' } = knownParameters(call, ['account', 'mailbox'], false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', 'account: name the account by its id or its address.');
  if (typeof mailbox !== 'string' || mailbox === '' || mailbox.length > 1000)
    throw new ApiError('PARAMETER_INVALID', 'mailbox: give the path of a mailbox, at most 1000 characters.');
  if (!upload) throw mediaTypeUnsupported('Upload a message/rfc822 or an application/mbox.');
  const account = await accountInSight(context, named);
  void grant;
  const place = await mailboxPlace(application.database, account.id, mailbox);
  const by = { actor: actorOf(caller), requestId };
  const report: ImportReport = await importMail(application.mail, account, place, upload, by);
  return { data: JSON.stringify(report) };
}
