import { BoundedQueue } from './bounded-queue.ts';
import type { Logger } from './logger.ts';
import type { Mail, Mailer } from './mailer.ts';
import type { RuntimeConfig, RuntimeSettings } from './runtime-settings.ts';

const maxQueuedMails = 200;

/** Sends the server's own e-mails by the mail server of the settings, which may change. */
export class SystemMailer {
  /** Sends e-mails after the reply to the request. */
  readonly queue: BoundedQueue;
  #smtp: RuntimeConfig['smtp'] = null;
  #publicUrl: string | null = null;
  /** The library is loaded only if it is used: it costs start-up time and memory. */
  #mailer: Promise<Mailer> | null = null;

  constructor(runtime: RuntimeSettings, logger: Logger) {
    // The reply of a mail server may contain addresses, so only its code is logged.
    const logFailure = (error: unknown): void =>
      logger.warn({ code: (error as { code?: unknown }).code }, 'An e-mail could not be sent.');
    this.queue = new BoundedQueue(maxQueuedMails, logFailure);
    runtime.watch(({ smtp, publicUrl }) => {
      this.#publicUrl = publicUrl;
      if (JSON.stringify(smtp) === JSON.stringify(this.#smtp)) return;
      this.#smtp = smtp;
      this.#closeMailer();
    });
  }

  /** The URL for links in e-mails; null if no mail server is set. */
  get publicUrl(): string | null {
    return this.#smtp === null ? null : this.#publicUrl;
  }

  async send(mail: Mail): Promise<void> {
    this.#mailer ??= this.#open();
    await (await this.#mailer).send(mail);
  }

  /** Waits for queued e-mails at most the given time. */
  async close(maxMilliseconds: number): Promise<void> {
    await this.queue.close(maxMilliseconds);
    this.#closeMailer();
  }

  async #open(): Promise<Mailer> {
    if (this.#smtp === null) throw new Error('no mail server is set');
    const { url, from } = this.#smtp;
    const { smtpMailer } = await import('./mailer.ts');
    return smtpMailer(url, from);
  }

  #closeMailer(): void {
    void this.#mailer?.then((mailer) => mailer.close());
    this.#mailer = null;
  }
}
