import { argon2 as argon2Callback, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const argon2 = promisify(argon2Callback);
/** OWASP's lower-memory setting of argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
/** Of the four threads that also make writes durable, hashing takes at most this many. */
const atOnce = 2;
let running = 0;
const waiting: (() => void)[] = [];

/** The argon2id hash of a password in PHC form, salted. About 30 ms on a thread of its own. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const tag = await derive(password, salt);
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(salt)}$${base64(tag)}`;
}

/** Whether a password fits a hash; a missing hash costs the same and never fits. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const [, , , , salt = '', tag = ''] = (hash ?? '').split('$');
  const expected = Buffer.from(tag, 'base64');
  const actual = await derive(password, salt === '' ? randomBytes(16) : Buffer.from(salt, 'base64'));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

async function derive(password: string, salt: Buffer): Promise<Buffer> {
  if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return Buffer.from(await argon2('argon2id', { message: password, nonce: salt, ...cost }));
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
