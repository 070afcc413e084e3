import type { BoundedQueue } from '../base/bounded-queue.ts';
import type { Config } from '../base/config.ts';
import type { Mailer } from '../base/mailer.ts';

/** How people come by accounts of this server, and back into them. */
export interface AccountSettings {
  readonly signUpApplications: Config['signUpApplications'];
  /** Null where no mail server is set. */
  readonly mail: MailSettings | null;
}

export interface MailSettings {
  readonly mailer: Mailer;
  /** Work that goes on after its reply. */
  readonly queue: BoundedQueue;
  readonly publicUrl: string;
}
