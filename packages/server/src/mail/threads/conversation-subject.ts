const replyPrefix = /^\s*(?:re|fwd?|aw|wg|sv|vs|tr|rv|antw|odp|回复|答复)(?:\[\d+\])?\s?[:：]\s*/i;

/** The title of a conversation: the subject of its first message without reply prefixes. */
export function conversationSubject(subject: string): string {
  let stripped = subject;
  while (replyPrefix.test(stripped)) stripped = stripped.replace(replyPrefix, '');
  return stripped.trim() === '' ? subject.trim() : stripped.trim();
}
