import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and text, as they were received. */
  readonly raw: string;
}

/** A mail server on loopback that stores the messages that it receives. */
export class SmtpReceiver {
  readonly received: ReceivedMail[] = [];
  /** The delay before it accepts a message, in milliseconds. */
  delay = 0;
  readonly #server: SMTPServer;
  url = '';

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      closeTimeout: 50,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          const to = rcptTo.map((each) => each.address);
          this.received.push({ from: mailFrom ? mailFrom.address : '', to, raw: Buffer.concat(chunks).toString() });
          setTimeout(done, this.delay);
        });
      },
    });
  }

  static async open(): Promise<SmtpReceiver> {
    const box = new SmtpReceiver();
    await new Promise<void>((resolve) => box.#server.listen(0, '127.0.0.1', resolve));
    box.url = `smtp://127.0.0.1:${(box.#server.server.address() as AddressInfo).port}`;
    return box;
  }

  /** The texts of messages, without soft line breaks. */
  get texts(): string[] {
    return this.received.map(({ raw }) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '='));
  }

  /** The number of messages that an address has received. */
  countTo(address: string): number {
    return this.received.filter(({ to }) => to.includes(address)).length;
  }

  /** Waits until `count` messages have arrived; with `address`, until it has received `count` of them. */
  async until(count: number, address?: string): Promise<void> {
    const arrived = (): number => (address === undefined ? this.received.length : this.countTo(address));
    for (let attempt = 0; arrived() < count; attempt += 1) {
      if (attempt === 400) throw new Error(`${arrived()} messages arrived, expected ${count}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
