/** Summaries of conversations: the participants of their e-mails, and the subject of the oldest. */
import type { ConversationSummary, ThreadRows } from '../../database/mail/thread-rows.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { Participants } from '../threads/participants.ts';

/** Recomputes the summaries of conversations. */
export async function refreshSummaries(rows: ThreadRows, ids: readonly number[]): Promise<void> {
  for (const each of await findStaleSummaries(rows, ids)) await rows.writeSummary(each);
}

/** The right summaries of conversations whose stored summary is wrong. Conversations without e-mails keep theirs. */
export async function findStaleSummaries(rows: ThreadRows, ids: readonly number[]): Promise<ConversationSummary[]> {
  const expectedById = new Map<number, { readonly subject: string; readonly people: Participants }>();
  for await (const messages of rows.messages(ids))
    for (const { conversation, subject, people } of messages) {
      const known = expectedById.get(conversation) ?? {
        subject: conversationSubject(subject),
        people: new Participants(),
      };
      known.people.add(people);
      expectedById.set(conversation, known);
    }
  return (await rows.readSummaries(ids)).flatMap((each) => {
    const expected = expectedById.get(each.id);
    if (!expected) return [];
    const expectedSummary = { id: each.id, subject: expected.subject, participants: expected.people.list() };
    return JSON.stringify(expectedSummary) === JSON.stringify(each) ? [] : [expectedSummary];
  });
}
