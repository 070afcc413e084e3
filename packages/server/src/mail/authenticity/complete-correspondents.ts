/** Notes the correspondents of e-mails that an earlier server version stored, and makes contacts of those to whom accounts have written. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../database/database.ts';
import {
  CorrespondentRows,
  readCorrespondence,
  setCorrespondentsVersion,
} from '../../database/mail/correspondent-rows.ts';
import { collectCorrespondents, sentFolders } from './correspondents.ts';

/** E-mails of one transaction, which takes some milliseconds. */
const batchSize = 500;
/** Other writes run between two batches. */
const pauseMilliseconds = 10;

/** Completes accounts. If a call is interrupted, the next one begins again: repeating it changes nothing. */
export async function completeCorrespondents(
  {
    database,
    clock,
    accounts,
  }: { readonly database: Database; readonly clock: Clock; readonly accounts: readonly number[] },
  isStopped: () => boolean,
): Promise<void> {
  for (const account of accounts) {
    const { completeContacts } = await import('../contacts/fill-contacts.ts');
    await completeContacts({ database, account, folders: [...sentFolders] }, () => clock.now(), isStopped);
    let position: number | null = 0;
    while (position !== null) {
      if (isStopped()) return;
      position = await completeBatch(database, account, position);
      await pause(pauseMilliseconds);
    }
  }
}

/** @returns the key after which to continue; null: the account is complete. */
async function completeBatch(database: Database, account: number, after: number): Promise<number | null> {
  const emails = await readCorrespondence(database, account, after, batchSize);
  const position = emails.length < batchSize ? null : (emails.at(-1)?.id ?? null);
  const met = collectCorrespondents(emails);
  await database.write(
    async (transaction) => {
      await new CorrespondentRows(database, transaction, account).add(met);
      if (position === null) await setCorrespondentsVersion(database, transaction, account);
    },
    { lockKey: `mail ${account}` },
  );
  return position;
}
