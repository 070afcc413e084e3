/**
 * Data that was received from a server: a reply, a message, a document.
 *
 * The tests assert its shape, so a static type would only repeat the assertions, and hide where the two differ.
 */
// biome-ignore lint/suspicious/noExplicitAny: a member that is missing fails the assertion that reads it
export type Json = any;
