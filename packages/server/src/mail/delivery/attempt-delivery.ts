/** One attempt to send a message to the recipients that still wait for it: checks, then one SMTP transaction or several. */
import type { LeasedMail } from '../../database/mail/outbox-lease-rows.ts';
import { type Attempt, type DeliveryState, isWaiting, type RecipientOutcome } from './delivery-state.ts';
import { type EightBit, findEightBit, needsSmtpUtf8, type SmtpAbilities } from './smtp-abilities.ts';
import type { SmtpResult, SmtpSession } from './smtp-session.ts';

/** A message and what is known of its delivery. */
export interface LeasedMessage {
  readonly mail: LeasedMail;
  readonly raw: Uint8Array;
  readonly state: DeliveryState;
  readonly envelopeId: string;
}

/** What the worker stores during an attempt. */
export interface AttemptHooks {
  /** Before the first byte of a transaction. @throws if nothing may be sent, because the lease ended. */
  readonly begin: (recipients: readonly string[]) => Promise<void>;
  /** After a transaction that another one follows. */
  readonly progress: (outcomes: readonly RecipientOutcome[]) => Promise<void>;
}

const unknownOutcome = {
  code: 'outcomeUnknown',
  message: 'The connection was lost after the message was transmitted, before the server confirmed it.',
  cure: 'The server searches for it in the sent messages. If it is not found there, send it again with emails:retrySend, or turn it into a draft with emails:cancelSend.',
};

/**
 * Sends a message.
 *
 * @throws the error of {@link AttemptHooks.begin}.
 */
export async function attemptDelivery(
  session: SmtpSession,
  message: LeasedMessage,
  hooks: AttemptHooks,
): Promise<Attempt> {
  const waiting = message.state.recipients.filter(isWaiting).map(({ address }) => address);
  const eightBit = findEightBit(message.raw);
  const refusal = findMessageRefusal(session.abilities, message, eightBit);
  if (refusal) return { outcomes: waiting.map((address) => refuse(address, refusal.message)), problem: refusal };
  const { sendable, refused } = splitByAbility(waiting, session.abilities);
  const transactions = new Transactions(session, message, eightBit, hooks);
  const outcomes = [...refused, ...(await transactions.send(sendable))];
  return { outcomes, problem: outcomes.some(({ outcome }) => outcome === 'unknown') ? unknownOutcome : null };
}

type Refusal = NonNullable<Attempt['problem']>;

/** Why the server cannot take a message, whoever receives it; null: it can. */
function findMessageRefusal(
  { maxBytes, smtpUtf8, eightBitMime }: SmtpAbilities,
  { mail, raw }: LeasedMessage,
  eightBit: EightBit,
): Refusal | null {
  if (maxBytes !== null && raw.length > maxBytes)
    return {
      code: 'messageTooLarge',
      message: `The message has ${raw.length} bytes, and the server accepts at most ${maxBytes}.`,
      cure: 'Make a draft of it with emails:cancelSend, remove attachments, and send it again.',
    };
  if (!smtpUtf8 && (eightBit.inHeaders || needsSmtpUtf8(mail.sender)))
    return {
      code: 'smtpUtf8Missing',
      message:
        'The message names an address with non-ASCII letters before the @, which the server does not support (SMTPUTF8).',
      cure: 'Make a draft of it with emails:cancelSend, and use ASCII addresses.',
    };
  if (!eightBitMime && eightBit.inBody)
    return {
      code: 'eightBitMissing',
      message: 'An attached message has non-ASCII letters, which the server does not support (8BITMIME).',
      cure: 'Make a draft of it with emails:cancelSend, remove the attached message, and send it again.',
    };
  return null;
}

function refuse(address: string, reply: string): RecipientOutcome {
  return { address, outcome: 'failed', code: null, reply };
}

function splitByAbility(
  recipients: readonly string[],
  { smtpUtf8 }: SmtpAbilities,
): { readonly sendable: readonly string[]; readonly refused: readonly RecipientOutcome[] } {
  const isRefused = (address: string): boolean => !smtpUtf8 && needsSmtpUtf8(address);
  const reply = 'The address has non-ASCII letters before the @, which the server does not support (SMTPUTF8).';
  return {
    sendable: recipients.filter((address) => !isRefused(address)),
    refused: recipients.filter(isRefused).map((address) => refuse(address, reply)),
  };
}

/** The transactions of one attempt. */
class Transactions {
  readonly #session: SmtpSession;
  readonly #message: LeasedMessage;
  readonly #eightBit: EightBit;
  readonly #hooks: AttemptHooks;

  constructor(session: SmtpSession, message: LeasedMessage, eightBit: EightBit, hooks: AttemptHooks) {
    this.#session = session;
    this.#message = message;
    this.#eightBit = eightBit;
    this.#hooks = hooks;
  }

  async send(recipients: readonly string[]): Promise<RecipientOutcome[]> {
    const outcomes: RecipientOutcome[] = [];
    let rest = [...recipients];
    while (rest.length > 0) {
      if (!this.#session.isUsable) {
        const reply = 'The connection was lost before the message was transmitted.';
        return [...outcomes, ...rest.map((address) => ({ address, outcome: 'deferred' as const, code: null, reply }))];
      }
      const { maxRecipients } = this.#session.abilities;
      const result = await this.#sendOne(rest.slice(0, maxRecipients));
      rest = [...result.tooMany, ...rest.slice(maxRecipients)];
      outcomes.push(...result.outcomes);
      if (rest.length > 0) await this.#hooks.progress(result.outcomes);
    }
    return outcomes;
  }

  #sendOne(recipients: readonly string[]): Promise<SmtpResult> {
    const { mail, raw, envelopeId } = this.#message;
    return this.#session.send({
      sender: mail.sender,
      recipients,
      raw,
      eightBit: this.#eightBit,
      envelopeId,
      notify: mail.sender === '' ? ['NEVER'] : ['FAILURE', 'DELAY'],
      begin: this.#hooks.begin,
    });
  }
}
