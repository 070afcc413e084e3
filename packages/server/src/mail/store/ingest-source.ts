import type { Transaction } from '../../database/database.ts';
import type { IncomingMail } from './incoming-mail.ts';
import type { ParsedIncomingMail } from './new-email.ts';

/** What another source of messages than an import does in the transaction that stores them. */
export interface IngestSource {
  /** Whether no events are appended: for the first synchronisation of a large mailbox. */
  readonly isQuiet: boolean;
  /**
   * Runs first. @returns identities of messages that must not be stored, because they were permanently deleted here.
   */
  findDeleted(transaction: Transaction, messages: readonly IdentifiedMail[]): Promise<ReadonlySet<string>>;
  /** Links messages that the account already has. */
  link(transaction: Transaction, messages: readonly (IdentifiedMail & { readonly emailId: number })[]): Promise<void>;
  /** Runs last. */
  finish(transaction: Transaction): Promise<void>;
}

/** A message with the identity by which it is stored once. */
export interface IdentifiedMail {
  readonly incoming: IncomingMail;
  readonly identity: string;
  /** As far as the message was parsed. */
  readonly parsed?: ParsedIncomingMail | null;
}

/** The identities by which a message may have been stored and deleted: of all its bytes, and of its headers. */
export function listIdentities({ identity, parsed }: IdentifiedMail): string[] {
  const { partialIdentity } = parsed?.mail ?? {};
  return partialIdentity === undefined ? [identity] : [identity, partialIdentity];
}
