import { argon2 as argon2Callback, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { HashingPool, type Line } from './hashing-pool.ts';
import { passwordLength } from './password-rules.ts';

const argon2 = promisify(argon2Callback);
/** OWASP's lower-memory setting of argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const pool = new HashingPool();

/**
 * The argon2id hash of a password in PHC form, salted. About 30 ms on a thread of its own. All of the text counts.
 *
 * @throws ApiError `BUSY` where too many wait already.
 */
export async function hashPassword(password: string, line: Line = 'callers'): Promise<string> {
  const salt = randomBytes(16);
  const tag = await derive(password, salt, line);
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(salt)}$${base64(tag)}`;
}

/**
 * Whether a password fits a hash; a missing hash costs the same and never fits, and so does a text that is longer than
 * any password.
 *
 * @throws ApiError `BUSY` where too many wait already.
 */
export async function verifyPassword(password: string, hash: string | null, line: Line): Promise<boolean> {
  const [, , , , salt = '', tag = ''] = (hash ?? '').split('$');
  const expected = Buffer.from(tag, 'base64');
  const tooLong = password.length > 2 * passwordLength.most;
  const actual = await derive(
    tooLong ? '' : password,
    salt === '' ? randomBytes(16) : Buffer.from(salt, 'base64'),
    line,
  );
  return !tooLong && expected.length === actual.length && timingSafeEqual(expected, actual);
}

function derive(password: string, salt: Buffer, line: Line): Promise<Buffer> {
  return pool.run(line, async () => Buffer.from(await argon2('argon2id', { message: password, nonce: salt, ...cost })));
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
