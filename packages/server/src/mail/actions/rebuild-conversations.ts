import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { MailData, MailRequest } from './mail-request.ts';
import { findUpdatableAccount } from './updatable-account.ts';

/** `accounts:rethread`: rebuilds the conversations of an account from its e-mails. Other requests run meanwhile. */
export async function runRethread(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  const account = await findUpdatableAccount(request);
  const actor = { actor: formatActor(context.caller), requestId: context.requestId };
  const report = await mail.rebuildConversations(account, actor);
  if (report) return { data: JSON.stringify(report) };
  throw new ApiError(
    'RETHREAD_RUNNING',
    'The conversations of this account are already being rebuilt. Wait until that has finished.',
    { retryAfter: 5 },
  );
}
