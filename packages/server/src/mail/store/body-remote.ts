import { ApiError } from '../../protocol/api-error.ts';

/**
 * The bytes of a message are still on its mail server, which cannot give them now.
 *
 * @param reason complete sentences that say why, and what helps.
 */
export function bodyRemoteError(reason = 'The mail server cannot be read now. Try again later.'): ApiError {
  return new ApiError(
    'MAIL_BODY_REMOTE',
    `The e-mail is not stored completely yet: its body is still on the mail server. ${reason}`,
    { retryAfter: 5 },
  );
}

/** The message was deleted on its mail server before its body was read. A move looks the same until the next synchronisation. */
export function bodyDeletedError(): ApiError {
  return new ApiError(
    'MAIL_BODY_DELETED',
    'The body of the e-mail was never read, and the message is not in its mailbox on the mail server any more: it was deleted or moved there. The next synchronisation deletes the e-mail here, or finds it in its new mailbox.',
  );
}
