const secretPattern = /\btb[a-z]_[0-9A-Za-z]{40,}|\bwhsec_/;

/** Whether a reply contains a token or a webhook secret. Such a reply is neither stored nor compressed. */
export function containsSecret(text: string): boolean {
  return secretPattern.test(text);
}
