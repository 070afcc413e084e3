/** Statements about the flags of e-mails. */
import type { Database, Transaction } from '../database.ts';
import { createReader, type RunStatement } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { parseTextList } from './address-lists.ts';
import { TransactionRows } from './transaction-rows.ts';

/** Flags, keywords and labels of an e-mail. */
export interface EmailFlags {
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly forwarded: boolean;
  /** Marked on the server to be deleted there. */
  readonly deleted: boolean;
  readonly keywords: readonly string[];
  readonly labels: readonly string[];
}

/** The flags of an e-mail, and whether it is a draft. */
export interface StoredFlags extends EmailFlags {
  readonly draft: boolean;
}

/** Flags inside a transaction. */
export class FlagRows extends TransactionRows {
  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['emails']);
  }

  /** The flags of e-mails by key. */
  read(emails: readonly number[]): Promise<Map<number, StoredFlags>> {
    return selectFlags(this.run, this.database, emails);
  }

  /** Gives e-mails the same flags. */
  async write(emails: readonly number[], flags: EmailFlags): Promise<void> {
    await this.run(
      sql`UPDATE emails SET read=${value('boolean', flags.read)},starred=${value('boolean', flags.starred)},answered=${value('boolean', flags.answered)},forwarded=${value('boolean', flags.forwarded)},deleted=${value('boolean', flags.deleted)},keywords=${value('json', flags.keywords)},labels=${value('json', flags.labels)},_v=_v+1 WHERE ${this.database.dialect.isIn(sql`id`, listValue('bigint', emails))}`,
    );
  }
}

/** The flags of e-mails by key, read outside of a transaction. */
export function readFlags(database: Database, emails: readonly number[]): Promise<Map<number, StoredFlags>> {
  return selectFlags(createReader(database), database, emails);
}

async function selectFlags(
  run: RunStatement,
  { dialect }: Database,
  emails: readonly number[],
): Promise<Map<number, StoredFlags>> {
  const rows = await run(
    sql`SELECT id,read,starred,answered,forwarded,deleted,keywords,labels,draft FROM emails WHERE ${dialect.isIn(sql`id`, listValue('bigint', emails))}`,
  );
  return new Map(
    rows.map(([id, read, starred, answered, forwarded, deleted, keywords, labels, draft]) => [
      Number(id),
      {
        read: Boolean(read),
        starred: Boolean(starred),
        answered: Boolean(answered),
        forwarded: Boolean(forwarded),
        deleted: Boolean(deleted),
        keywords: parseTextList(keywords),
        labels: parseTextList(labels),
        draft: Boolean(draft),
      },
    ]),
  );
}
