/** What conversations say of their e-mails: who wrote and who received them, and the subject of the oldest. */
import type { ConversationSummary, ThreadRows } from '../../database/mail/thread-rows.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { Participants } from '../threads/participants.ts';

/** Has conversations say again who takes part in them, and what they are about. */
export async function refreshSummaries(rows: ThreadRows, ids: readonly number[]): Promise<void> {
  for (const each of await findStaleSummaries(rows, ids)) await rows.writeSummary(each);
}

/** Conversations that say something else than their e-mails, as they should be; what has no e-mails says what it said. */
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
