const answer = /^\s*(?:re|fwd?|aw|wg|sv|vs|tr|rv|antw|odp|回复|答复)(?:\[\d+\])?\s?[:：]\s*/i;

/** How a conversation is called: the subject of its first message, without what answers put before it. */
export function conversationSubject(subject: string): string {
  let left = subject;
  while (answer.test(left)) left = left.replace(answer, '');
  return left.trim() === '' ? subject.trim() : left.trim();
}
