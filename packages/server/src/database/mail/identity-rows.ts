/** Statements about the addresses that an account sends as. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createRunner, createTxRunner } from '../run-statement.ts';
import { sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';
import { parseTextList } from './address-lists.ts';

/** A signature. Null: the server derives this form from the other one. */
export interface StoredSignature {
  readonly text: string | null;
  /** Sanitised. */
  readonly html: string | null;
}

/** An address that an account may send as. */
export interface StoredIdentity {
  readonly address: string;
  /** The display name; null: that of the account. */
  readonly name: string | null;
  /** When the account proved that it receives mail at the address, ISO 8601; null: not yet. */
  readonly verifiedAt: string | null;
  /** Null or absent: that of the account. */
  readonly signature?: StoredSignature | null;
}

/** The proof that an account receives mail at an alias, or the state of a verification that is not complete. */
export interface AliasProof {
  readonly verifiedAt?: string;
  /** The keyed hash of the code that was sent to it, and when it ends. */
  readonly code?: {
    readonly hash: string;
    readonly sentAt: string;
    readonly expiresAt: string;
    /** Wrong codes that were entered. */
    readonly failures: number;
  };
}

/** The addresses of an account, and how they were verified. */
export interface AccountAddresses {
  /** The name of the account. */
  readonly name: string | null;
  /** The signature of the account, as plain text. */
  readonly signature: string | null;
  readonly address: string;
  readonly aliases: readonly string[];
  readonly identities: readonly StoredIdentity[];
  /** By alias, in lower case. */
  readonly proofs: Readonly<Record<string, AliasProof>>;
}

/**
 * @param transaction the open one, if any.
 * @returns null if the account does not exist or is being deleted.
 */
export async function readAccountAddresses(
  database: Database,
  transaction: Transaction | null,
  account: number,
): Promise<AccountAddresses | null> {
  const run = createRunner(database, transaction);
  const [row] = await run(
    sql`SELECT name,address,aliases,identities,"aliasProofs",signature FROM accounts WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)}`,
  );
  if (!row) return null;
  const [name, address, aliases, identities, proofs, signature] = row;
  return {
    name: name as string | null,
    signature: signature as string | null,
    address: address as string,
    aliases: parseTextList(aliases),
    identities: (parseJsonColumn(identities) ?? []) as readonly StoredIdentity[],
    proofs: (parseJsonColumn(proofs) ?? {}) as Readonly<Record<string, AliasProof>>,
  };
}

/** Stores the addresses that an account sends as, and the proofs of its aliases. */
export async function setIdentities(
  database: Database,
  transaction: Transaction,
  account: number,
  { identities, proofs }: Pick<AccountAddresses, 'identities' | 'proofs'>,
): Promise<void> {
  transaction.touch('accounts');
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE accounts SET identities=${value('json', identities)},"aliasProofs"=${value('json', proofs)} WHERE id=${value('integer', account)}`,
  );
}

/** Gives an account another version, after a change outside of an update. */
export async function increaseAccountVersion(
  database: Database,
  transaction: Transaction,
  account: number,
): Promise<void> {
  await createTxRunner(database, transaction)(sql`UPDATE accounts SET _v=_v+1 WHERE id=${value('integer', account)}`);
}
