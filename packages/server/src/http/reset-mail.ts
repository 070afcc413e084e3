import { mainApplicationName } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import { anonymous } from '../identity/authenticator.ts';
import { createReset } from '../records/system/own-account.ts';
import type { MailSettings } from './account-settings.ts';

export interface PasswordResetRequest {
  readonly application: string;
  /** As somebody wrote it; what is sent goes to the address that is stored. */
  readonly email: string;
  readonly requestId: string;
}

/** Sends a link to set a new password with, if there is a user of that address. Runs after the reply. */
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

/** The token stands behind `#`, which browsers keep to themselves: no proxy writes it into a log. */
function buildResetMail(publicUrl: string, application: string, token: string): string {
  const applicationParameter = application === mainApplicationName ? '' : `&app=${encodeURIComponent(application)}`;
  return [
    `Somebody, you we hope, asked to set a new password at ${publicUrl}.`,
    '',
    'This link does it, once, within an hour:',
    '',
    `${publicUrl}/reset-password#token=${token}${applicationParameter}`,
    '',
    `A program sends {"token": "${token}", "password": "…"} to ${publicUrl}/api/auth:resetPassword.`,
    '',
    'If it was not you, do nothing: your password stays as it is.',
    '',
  ].join('\n');
}
