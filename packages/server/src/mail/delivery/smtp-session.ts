import type { SmtpClient, SmtpEnvelope } from '../connect/open-smtp.ts';
import { cleanServerLine } from '../connect/server-text.ts';
import type { RecipientOutcome } from './delivery-state.ts';
import { MessageStream } from './message-stream.ts';
import { type EightBit, readSmtpAbilities, type SmtpAbilities, toEnvelopeAddress } from './smtp-abilities.ts';

/** A message for some recipients. */
export interface SmtpMail {
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly raw: Uint8Array;
  /** Where it has bytes beyond ASCII. */
  readonly eightBit: EightBit;
  /** By which reports about it are recognised (RFC 3461). */
  readonly envelopeId: string;
  /** Which reports are requested, where the server offers them. */
  readonly notify: readonly ('NEVER' | 'FAILURE' | 'DELAY')[];
  /**
   * Runs when the server waits for the message, before its first byte is sent.
   *
   * @param recipients those that the server has accepted so far.
   */
  readonly begin: (recipients: readonly string[]) => Promise<void>;
}

/** The outcome of one SMTP transaction. */
export interface SmtpResult {
  readonly outcomes: readonly RecipientOutcome[];
  /** Recipients that the server refused because the transaction has too many: they need another one. */
  readonly tooMany: readonly string[];
}

type SendError = Error & {
  readonly responseCode?: number;
  readonly response?: string;
  readonly command?: string;
  readonly code?: string;
};

/** The envelope, in which nodemailer notes the reply to each recipient. */
interface NotedEnvelope {
  readonly accepted?: readonly string[];
  readonly rejectedErrors?: readonly (SendError & { readonly recipient?: string })[];
}

const maxReplyLength = 500;

/** SMTP transactions on one connection. */
export class SmtpSession {
  readonly abilities: SmtpAbilities;
  readonly #connection: SmtpClient;
  #isLost = false;

  constructor(connection: SmtpClient) {
    this.#connection = connection;
    this.abilities = readSmtpAbilities(connection);
  }

  /** Whether another transaction is possible, as far as the last one shows. */
  get isUsable(): boolean {
    return !this.#isLost;
  }

  /**
   * Sends a message to recipients. Replies of the server and a lost connection are part of the result.
   *
   * @throws the error of {@link SmtpMail.begin}; nothing was sent then.
   */
  async send(mail: SmtpMail): Promise<SmtpResult> {
    const addresses = new Map(mail.recipients.map((each) => [toEnvelopeAddress(each), each]));
    const { dsn } = this.abilities;
    const envelope: SmtpEnvelope & NotedEnvelope = {
      from: toEnvelopeAddress(mail.sender),
      to: [...addresses.keys()],
      size: mail.raw.length,
      use8BitMime: mail.eightBit.inBody,
      needsSmtpUtf8: mail.eightBit.inHeaders,
      ...(dsn && { dsn: { ret: 'HDRS', envid: mail.envelopeId, notify: [...mail.notify] } }),
    };
    const toAddress = (each: string): string => addresses.get(each) ?? each;
    const refusals: unknown[] = [];
    const stream = new MessageStream(mail.raw, async () => {
      await mail.begin((envelope.accepted ?? []).map(toAddress)).catch((error: unknown) => {
        refusals.push(error);
        throw error;
      });
    });
    const end = await this.#transmit(envelope, stream);
    if (refusals.length > 0) {
      this.close();
      throw refusals[0];
    }
    if (end.error !== null) await this.#recover(end.error);
    return readOutcomes(mail.recipients, envelope, toAddress, { ...end, isComplete: stream.isComplete });
  }

  async #transmit(envelope: SmtpEnvelope, stream: MessageStream): Promise<SendEnd> {
    try {
      const { response } = await this.#connection.send(envelope, stream);
      return { error: null, response };
    } catch (error) {
      return { error: error as SendError, response: null };
    }
  }

  /** Prepares the connection for another transaction after one that failed. */
  async #recover(error: SendError): Promise<void> {
    if (!isReply(error) || error.responseCode === 421) this.close();
    else await this.#connection.reset().catch(() => this.close());
  }

  /** Says good-bye and closes the connection. */
  quit(): void {
    if (this.isUsable) this.#connection.close();
    this.#isLost = true;
  }

  /** Closes the connection at once, also during a transaction. */
  close(): void {
    this.#isLost = true;
    this.#connection.destroy();
  }
}

/** How a transaction ended: with an error, or with the reply that accepted the message. */
interface SendEnd {
  readonly error: SendError | null;
  readonly response: string | null;
}

interface TransactionEnd extends SendEnd {
  /** Whether the server may have the whole message. */
  readonly isComplete: boolean;
}

function readOutcomes(
  recipients: readonly string[],
  { accepted = [], rejectedErrors = [] }: NotedEnvelope,
  toAddress: (envelopeAddress: string) => string,
  { error, response, isComplete }: TransactionEnd,
): SmtpResult {
  const refusals = new Map(rejectedErrors.map((each) => [toAddress(each.recipient ?? ''), each]));
  const taken = new Set(accepted.map(toAddress));
  const isSplit = error === null && taken.size > 0;
  const tooMany = isSplit ? recipients.filter((each) => isTooMany(refusals.get(each))) : [];
  const outcomes = recipients.flatMap((address): RecipientOutcome[] => {
    const refusal = refusals.get(address);
    if (tooMany.includes(address)) return [];
    if (refusal) return [toRefusal(address, refusal)];
    if (error === null) return [{ address, outcome: 'accepted', code: 250, reply: cleanReply(response ?? '') }];
    if (isReply(error)) return [toRefusal(address, error)];
    const outcome = isComplete && taken.has(address) ? 'unknown' : 'deferred';
    return [{ address, outcome, code: null, reply: describe(error) }];
  });
  return { outcomes, tooMany };
}

/** Whether the server has answered, so that the outcome is certain. */
function isReply({ responseCode, command }: SendError): boolean {
  return responseCode !== undefined && command !== 'CONN';
}

function toRefusal(address: string, error: SendError): RecipientOutcome {
  const { responseCode: code = 0 } = error;
  // If a step fails with a reply that is not a refusal (2xx, 3xx), the message can be tried again.
  return { address, outcome: code >= 500 ? 'failed' : 'deferred', code, reply: describe(error) };
}

/** Whether a recipient was refused because the transaction has too many recipients (RFC 5321, 4.5.3.1.10). */
function isTooMany(error: SendError | undefined): boolean {
  if (!error) return false;
  const { responseCode, response = '' } = error;
  if (responseCode !== 452 && responseCode !== 552) return false;
  if (/too many/i.test(response)) return true;
  const enhanced = /^\d{3}[ -]\d\.(\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
  return enhanced === undefined ? responseCode === 452 : enhanced === '5.3';
}

/** What the server said, on one line. */
function describe({ response, message }: SendError): string {
  return cleanReply(response ?? message);
}

function cleanReply(text: string): string {
  return cleanServerLine(text, maxReplyLength) ?? '';
}
