/** Codes that prove that an account receives mail at an alias. The code is stored as a keyed hash and works once, within a day. */
import { randomInt, timingSafeEqual } from 'node:crypto';
import type { AccountAddresses, AliasProof } from '../../database/mail/identity-rows.ts';
import { invalidValues } from '../../protocol/api-error.ts';

const dayMilliseconds = 86_400_000;
/** A code to one alias is sent at most once in this time. */
export const codeIntervalMilliseconds = 60_000;
const maxFailures = 10;

/** Generates a code of eight digits. */
export function makeAliasCode(): string {
  return String(randomInt(100_000_000)).padStart(8, '0');
}

/** The alias as the account names it. @throws ApiError 422 for an address that is no alias of the account. */
export function requireAlias({ aliases }: AccountAddresses, address: string): string {
  const alias = aliases.find((each) => each.toLowerCase() === address);
  if (alias !== undefined) return alias;
  throw invalidValues({ address: 'Add the address to "aliases" of the account first.' });
}

/** The proof of an alias to which a code is sent now. @param hash the keyed hash of the code. */
export function createAliasProof(hash: string, now: number): AliasProof {
  const expiresAt = new Date(now + dayMilliseconds).toISOString();
  return { code: { hash, sentAt: new Date(now).toISOString(), expiresAt, failures: 0 } };
}

/** Milliseconds until another code may be sent; 0: now. */
export function findCodeWait(proof: AliasProof | undefined, now: number): number {
  return proof?.code ? Math.max(0, Date.parse(proof.code.sentAt) + codeIntervalMilliseconds - now) : 0;
}

/**
 * Compares a code with the one that was sent.
 *
 * @param hash the keyed hash of what was entered.
 * @returns the proof as it is stored then, and whether the code was right.
 */
export function checkAliasCode(
  { code }: AliasProof,
  hash: string,
  now: number,
): { readonly proof: AliasProof; readonly isRight: boolean } {
  const isUsable = code !== undefined && Date.parse(code.expiresAt) > now && code.failures < maxFailures;
  if (!isUsable) return { proof: {}, isRight: false };
  const [given, expected] = [Buffer.from(hash), Buffer.from(code.hash)];
  if (given.length === expected.length && timingSafeEqual(given, expected))
    return { proof: { verifiedAt: new Date(now).toISOString() }, isRight: true };
  return { proof: { code: { ...code, failures: code.failures + 1 } }, isRight: false };
}
