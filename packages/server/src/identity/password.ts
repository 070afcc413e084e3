import { argon2 as argon2Callback, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { HashingPool, type HashingQueue } from './hashing-pool.ts';
import { passwordLength } from './password-rules.ts';

const argon2 = promisify(argon2Callback);

interface HashCost {
  /** In KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** OWASP's lower-memory setting of argon2id: 19 MiB, two passes, one lane. */
const fullCost: HashCost = { memory: 19_456, passes: 2, parallelism: 1 };
/** The minimum that argon2 allows. */
const testCost: HashCost = { memory: 8, passes: 1, parallelism: 1 };
const tagLength = 32;
let cost = fullCost;
const pool = new HashingPool();

/**
 * For tests only: makes new hashes in this process cheap, or expensive again. No setting calls this, so no server can be
 * configured to hash cheaply. Each hash contains its cost, so existing hashes remain verifiable.
 */
export function setCheapHashing(isCheap: boolean): void {
  cost = isCheap ? testCost : fullCost;
}

/**
 * The salted argon2id hash of a password in PHC format. Takes about 30 ms on another thread.
 *
 * @throws ApiError `BUSY` if too many are waiting already.
 */
export async function hashPassword(password: string, queue: HashingQueue = 'callers'): Promise<string> {
  const salt = randomBytes(16);
  const { memory, passes, parallelism } = cost;
  const tag = await deriveHash(password, salt, queue, cost);
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${toBase64(salt)}$${toBase64(tag)}`;
}

/**
 * Whether a password matches a hash. A missing hash and a text that is longer than any password cost the same and never
 * match. The hash contains its cost.
 *
 * @throws ApiError `BUSY` if too many are waiting already.
 */
export async function verifyPassword(password: string, hash: string | null, queue: HashingQueue): Promise<boolean> {
  const [, , , parameters = '', salt = '', tag = ''] = (hash ?? '').split('$');
  const expected = Buffer.from(tag, 'base64');
  const isTooLong = password.length > 2 * passwordLength.max;
  const actual = await deriveHash(
    isTooLong ? '' : password,
    salt === '' ? randomBytes(16) : Buffer.from(salt, 'base64'),
    queue,
    parseHashCost(parameters) ?? cost,
  );
  return !isTooLong && expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** The cost in `m=19456,t=2,p=1`; null for any other text. */
function parseHashCost(parameters: string): HashCost | null {
  const [, memory, passes, parallelism] = /^m=(\d+),t=(\d+),p=(\d+)$/.exec(parameters) ?? [];
  if (memory === undefined) return null;
  return { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
}

function deriveHash(password: string, salt: Buffer, queue: HashingQueue, hashCost: HashCost): Promise<Buffer> {
  const options = { message: password, nonce: salt, tagLength, ...hashCost };
  return pool.run(queue, async () => Buffer.from(await argon2('argon2id', options)));
}

function toBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
