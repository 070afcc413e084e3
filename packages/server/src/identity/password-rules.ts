import { isWellFormedText } from '../base/well-formed.ts';

/** In characters (code points). Passwords are not truncated before hashing. */
export const passwordLength = { min: 8, max: 1024 } as const;

/** The names by which a user signs in. */
export interface AccountNames {
  readonly email?: unknown;
  readonly username?: unknown;
}

/** What is wrong with a new password of a user with these names, or null. */
export function findPasswordProblem(password: unknown, names: AccountNames): string | null {
  if (typeof password !== 'string') return 'Give the password as text.';
  const length = [...password.slice(0, 2 * passwordLength.max + 1)].length;
  if (length < passwordLength.min) return `A password must have at least ${passwordLength.min} characters.`;
  if (length > passwordLength.max)
    return `A password must have at most ${passwordLength.max.toLocaleString('en')} characters.`;
  if (!isWellFormedText(password)) return 'A password must not contain U+0000 or half surrogate pairs.';
  const folded = password.trim().toLowerCase();
  if (folded === '') return 'A password must not consist only of white space.';
  for (const name of [names.email, names.username])
    if (typeof name === 'string' && folded === name.trim().toLowerCase())
      return 'A password must not be the e-mail address or the user name.';
  return null;
}
