/** Changes of the waiting operations of some e-mails, collected in memory and then written. */
import {
  type MailOperation,
  type NewOperation,
  type OperationKind,
  OperationRows,
} from '../../database/mail/operation-rows.ts';
import { type MailTransaction, readNow } from './mail-transaction.ts';

/** The operations of some e-mails of one account, as a transaction changes them. */
export class OperationQueue {
  readonly #mail: MailTransaction;
  readonly #account: number;
  readonly #rows: OperationRows;
  readonly #operations: Map<number, MailOperation>;
  readonly #changed = new Set<number>();
  readonly #removed = new Set<number>();
  #added: NewOperation[] = [];

  private constructor(mail: MailTransaction, account: number, operations: readonly MailOperation[]) {
    this.#mail = mail;
    this.#account = account;
    this.#rows = new OperationRows(mail.database, mail.transaction, account);
    this.#operations = new Map(operations.map((each) => [each.id, each]));
  }

  /** Reads the operations of e-mails. */
  static async ofEmails(mail: MailTransaction, account: number, emails: readonly number[]): Promise<OperationQueue> {
    const rows = new OperationRows(mail.database, mail.transaction, account);
    return new OperationQueue(mail, account, await rows.readByEmails(emails));
  }

  /** Reads the operations that name a mailbox. */
  static async ofMailbox(mail: MailTransaction, account: number, mailbox: number): Promise<OperationQueue> {
    const rows = new OperationRows(mail.database, mail.transaction, account);
    return new OperationQueue(mail, account, await rows.readByMailbox(mailbox));
  }

  /** Reads the operations of one kind. */
  static async ofKind(mail: MailTransaction, account: number, kind: OperationKind): Promise<OperationQueue> {
    const rows = new OperationRows(mail.database, mail.transaction, account);
    return new OperationQueue(mail, account, await rows.readByKind(kind));
  }

  /** The stored operations that remain, the oldest first; those added since are not among them. */
  get all(): readonly MailOperation[] {
    return [...this.#operations.values()];
  }

  /** The remaining operations of an e-mail, the oldest first. */
  ofEmail(email: number): readonly MailOperation[] {
    return this.all.filter((each) => each.emailId === email);
  }

  /** Adds an operation after all others. */
  add(operation: NewOperation): void {
    this.#added.push(operation);
  }

  /** Changes a stored operation; its other properties keep what an earlier call has given them. One that was removed stays removed. */
  replace({ id }: Pick<MailOperation, 'id'>, change: Partial<NewOperation>): void {
    const operation = this.#operations.get(id);
    if (!operation) return;
    this.#operations.set(id, { ...operation, ...change });
    this.#changed.add(id);
  }

  /** Removes a stored operation. */
  remove({ id }: MailOperation): void {
    this.#operations.delete(id);
    this.#removed.add(id);
  }

  /** Writes the changes, and wakes the synchronisation after the commit if something was added or changed. */
  async flush(): Promise<void> {
    const { transaction, wakeOperations } = this.#mail;
    await this.#rows.remove([...this.#removed]);
    for (const id of this.#changed) {
      const operation = this.#operations.get(id);
      if (operation) await this.#rows.update(id, operation);
    }
    await this.#rows.add(this.#added, readNow(this.#mail));
    if (this.#added.length + this.#changed.size > 0) transaction.afterDurable(() => wakeOperations(this.#account));
    this.#added = [];
    this.#changed.clear();
    this.#removed.clear();
  }
}
