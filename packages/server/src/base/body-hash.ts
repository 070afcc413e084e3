import { hash } from 'node:crypto';
import xxhash from 'xxhash-wasm';

const { h64ToString } = await xxhash();
/** WebAssembly memory grows to the longest text and never shrinks. */
const maxWasmLength = 1_000_000;

/** A 64-bit hash of a reply body, for ETags. Not for secrets: it is not cryptographic. */
export function hashBody(body: string): string {
  return body.length > maxWasmLength ? hash('sha1', body, 'base64url') : h64ToString(body);
}
