import type { BoundedQueue } from '../base/bounded-queue.ts';
import type { Config } from '../base/config.ts';
import type { Mailer } from '../base/mailer.ts';

/** Settings for signing up and for resetting passwords, as they are now. */
export interface AccountSettings {
  readonly signUpApplications: Config['signUpApplications'];
  /** Null if no mail server is configured. */
  readonly mail: MailSettings | null;
}

export interface MailSettings {
  readonly mailer: Pick<Mailer, 'send'>;
  /** Sends e-mails after the reply to the request. */
  readonly queue: BoundedQueue;
  readonly publicUrl: string;
}
