/** Adds the body to an e-mail that was stored with its headers only. */
import { MailWriter } from '../../database/mail/mail-writer.ts';
import {
  findFirstStored,
  mergePlacements,
  type PartialEmail,
  readPartialEmail,
} from '../../database/mail/partial-rows.ts';
import { formatActor } from '../../identity/caller.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { withServerGrant } from '../../records/with-grants.ts';
import { destroyRecords } from '../../records/write/write-records.ts';
import type { MailAccount } from './incoming-mail.ts';
import type { MailIngest } from './ingest.ts';
import { toMailTransaction } from './mail-transaction.ts';
import type { ParsedIncomingMail } from './new-email.ts';
import { prepareRemoval } from './remove-emails.ts';
import { changeEmails } from './server-changes.ts';

const serverGrant: Grant = { identity: 'body of an e-mail', rows: null, may: () => true };

/** What completing an e-mail works with. */
export interface CompletionParts {
  readonly ingest: MailIngest;
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** The whole message of an e-mail. */
export interface WholeMessage {
  /** On a `SharedArrayBuffer`, parsing copies nothing. */
  readonly raw: Uint8Array;
  /** Whether no event reports the body, because nobody has requested it. */
  readonly isQuiet?: boolean;
}

/**
 * Stores the whole message of an e-mail.
 *
 * @param partial the e-mail as it was read before.
 * @returns the key of the e-mail that has the message now: another one, where the account had the same message before; null where the
 * e-mail was deleted.
 * @throws MailTooLarge
 */
export async function completePartialEmail(
  { ingest, asServer }: CompletionParts,
  account: MailAccount,
  partial: PartialEmail,
  { raw, isQuiet = false }: WholeMessage,
): Promise<number | null> {
  const flags = { read: false, starred: false, answered: false, draft: false };
  const mailbox = { id: partial.mailboxId, folder: partial.folder };
  const parsed = await ingest.prepare(account, { raw, mailbox, receivedAt: partial.receivedAt, flags });
  return asServer((context) =>
    inTransaction(
      withServerGrant({ ...context, hooks: null }, serverGrant),
      (tx) => completeInTransaction(tx, ingest, account, { id: partial.id, parsed, isQuiet }),
      { lockKey: `mail ${account.id}` },
    ),
  );
}

async function completeInTransaction(
  tx: TransactionContext,
  ingest: MailIngest,
  account: MailAccount,
  { id, parsed, isQuiet }: { readonly id: number; readonly parsed: ParsedIncomingMail; readonly isQuiet: boolean },
): Promise<number | null> {
  const { database, tx: transaction } = tx;
  const partial = await readPartialEmail(database, transaction, id);
  if (!partial) return null;
  const writer = new MailWriter(database, transaction, account.id);
  const known = (await writer.findExisting([parsed.identity])).get(parsed.identity);
  // The e-mail that users have seen for longer is more likely to have their changes, such as labels.
  const kept = known === undefined ? id : await findFirstStored(database, transaction, [id, known]);
  if (known !== undefined) await merge(tx, kept === id ? known : id, kept);
  if (kept !== id) return kept;
  const { caller, requestId } = tx;
  await ingest.storeBody(transaction, { partial, parsed, isQuiet }, { actor: formatActor(caller), requestId });
  return id;
}

/** Two e-mails are the same message: one gets the mailboxes of the other one, which is deleted. */
async function merge(tx: TransactionContext, from: number, into: number): Promise<void> {
  const { database, tx: transaction } = tx;
  await changeEmails(toMailTransaction(tx, transaction), [from, into], async () => {
    await mergePlacements(database, transaction, from, into);
    return { placed: [into], fields: new Map() };
  });
  const guard: NonNullable<RecordRules['guard']> = ({ keys }) => prepareRemoval(tx, transaction, keys);
  const rules: RecordRules = { changesAccess: false, isUnaudited: true, guard };
  await destroyRecords(tx, tx.registry.get('emails'), requestByKeys('destroy', [from]), { rules });
}
