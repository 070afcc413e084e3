import { hash } from 'node:crypto';
import xxhash from 'xxhash-wasm';

const { h64ToString } = await xxhash();
/** WebAssembly memory grows to the longest text and stays so. */
const maxWasmLength = 1_000_000;

/** A short text that differs, but for one case in 2^64, where the body of a reply differs. Not for secrets. */
export function hashBody(body: string): string {
  return body.length > maxWasmLength ? hash('sha1', body, 'base64url') : h64ToString(body);
}
