/**
 * What came over the wire, looked into freely: a reply, a message, a document.
 *
 * Its shape is what the tests assert, so a static type here would only repeat the assertion and hide where the two part.
 */
// biome-ignore lint/suspicious/noExplicitAny: a member that is missing fails the assertion that reads it
export type Json = any;
