import { mainApplicationName } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import { anonymous } from '../identity/authenticator.ts';
import { createReset } from '../records/system/own-account.ts';
import type { MailSettings } from './account-settings.ts';

export interface PasswordResetRequest {
  readonly application: string;
  /** As in the request. The e-mail is sent to the stored address. */
  readonly email: string;
  readonly requestId: string;
}

/** Sends a link for setting a new password, if a user has the address. Runs after the reply. */
export async function sendPasswordReset(
  applications: Applications,
  { mailer, publicUrl }: MailSettings,
  { application: name, email, requestId }: PasswordResetRequest,
): Promise<void> {
  const lease = await applications.find(name);
  try {
    if (lease.error) return;
    const reset = await createReset(lease.application.recordContext(anonymous, requestId), email);
    if (reset)
      await mailer.send({
        to: reset.to,
        subject: 'Set a new password',
        text: buildResetMail(publicUrl, name, reset.token),
      });
  } finally {
    lease.release();
  }
}

/** The token is in the fragment (`#`), which browsers do not send, so that no proxy logs it. */
function buildResetMail(publicUrl: string, application: string, token: string): string {
  const applicationParameter = application === mainApplicationName ? '' : `&app=${encodeURIComponent(application)}`;
  return [
    `A new password was requested for your account at ${publicUrl}.`,
    '',
    'Set it with this link. It works once, within an hour:',
    '',
    `${publicUrl}/reset-password#token=${token}${applicationParameter}`,
    '',
    `A program can send {"token": "${token}", "password": "…"} to ${publicUrl}/api/auth:resetPassword.`,
    '',
    'If you did not request this, ignore this e-mail. Your password stays unchanged.',
    '',
  ].join('\n');
}
