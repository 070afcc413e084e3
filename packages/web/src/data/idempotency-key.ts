/** Anything that nobody takes twice, for an Idempotency-Key; `crypto.randomUUID` is there over HTTPS alone. */
export function createIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, '0')).join('');
}
