/**
 * Signed URLs of one file or backup, which need no credential in a header, for `<img>` and for sharing. They have the permissions that the
 * credential which requested them has at the time of use, and are no longer valid when it ends.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';

/** What an address states. */
export interface SignedAddress {
  readonly application: string;
  /** The id of a file, or `backup:<id>` for the tar file of a backup. */
  readonly file: number | string;
  readonly type: 'session' | 'apiKey';
  readonly credentialId: number;
  readonly role: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** The seconds for which an address is valid. */
export const addressSeconds = { default: 300, max: 86_400 } as const;

/** Signs text under the keys of the server, the present one first. */
export type Sign = (text: string) => readonly string[];

/** The value of the parameter `signature`. @throws ApiError for a caller without a credential. */
export function signAddress(
  caller: Caller,
  { application, file, expiresAt }: Pick<SignedAddress, 'application' | 'file' | 'expiresAt'>,
  sign: Sign,
): string {
  const { type, credentialId, role } = caller;
  if (type === 'anonymous' || type === 'operator' || credentialId === null)
    throw new ApiError('NO_PERMISSION', 'Signing an address requires a credential. Sign in, or use an API key.');
  const text = encode({ application, file, type, credentialId, role, expiresAt });
  return `${text}.${sign(toSignedText(text))[0]}`;
}

/** Reads what an address states, without verifying it; null if it states nothing. */
export function decodeAddress(signature: string): SignedAddress | null {
  const [text = ''] = signature.split('.');
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (!Array.isArray(parts) || parts.length !== 6) return null;
    const [application, file, type, credentialId, role, expiresAt] = parts;
    const isValid =
      typeof application === 'string' &&
      typeof role === 'string' &&
      (type === 'session' || type === 'apiKey') &&
      (typeof file === 'string' || Number.isSafeInteger(file)) &&
      [credentialId, expiresAt].every(Number.isSafeInteger);
    return isValid ? { application, file, type, credentialId, role, expiresAt } : null;
  } catch {
    return null;
  }
}

/** Verifies an address for a file. @throws ApiError 401 if it is not valid now. */
export function verifyAddress(
  signature: string,
  { application, file, now }: { readonly application: string; readonly file: string | null; readonly now: number },
  sign: Sign,
): SignedAddress {
  const [text = '', mac = ''] = signature.split('.');
  const address = decodeAddress(signature);
  const isGenuine = sign(toSignedText(text)).some((each) => isSameText(each, mac));
  if (!address || !isGenuine || address.application !== application || String(address.file) !== file)
    throw new ApiError(
      'TOKEN_INVALID',
      'The signature of the address is not valid for this file. Request a new address with files:sign or backups:sign.',
    );
  if (now >= address.expiresAt)
    throw new ApiError(
      'TOKEN_EXPIRED',
      'The address has expired. Request a new address with files:sign or backups:sign.',
    );
  return address;
}

function encode({ application, file, type, credentialId, role, expiresAt }: SignedAddress): string {
  const parts = [application, file, type, credentialId, role, expiresAt];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Tokens, which are hashed under the same key, never begin like this. */
function toSignedText(text: string): string {
  return `file address: ${text}`;
}

function isSameText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
