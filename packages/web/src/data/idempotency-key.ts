/** A random Idempotency-Key. `crypto.randomUUID` is only available over HTTPS. */
export function createIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, '0')).join('');
}
