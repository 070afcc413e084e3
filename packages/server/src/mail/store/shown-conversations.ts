/** What conversations say of their e-mails: who wrote and who received them, and the subject of the oldest. */
import type { ShownConversation, ThreadRows } from '../../database/mail/thread-rows.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { Participants } from '../threads/participants.ts';

/** Has conversations say again who takes part in them, and what they are about. */
export async function shownAnew(rows: ThreadRows, ids: readonly number[]): Promise<void> {
  for (const each of await wronglyShown(rows, ids)) await rows.show(each);
}

/** Conversations that say something else than their e-mails, as they should be; what has no e-mails says what it said. */
export async function wronglyShown(rows: ThreadRows, ids: readonly number[]): Promise<ShownConversation[]> {
  const right = new Map<number, { readonly subject: string; readonly people: Participants }>();
  for await (const messages of rows.messages(ids))
    for (const { conversation, subject, people } of messages) {
      const known = right.get(conversation) ?? { subject: conversationSubject(subject), people: new Participants() };
      known.people.add(people);
      right.set(conversation, known);
    }
  return (await rows.shown(ids)).flatMap((each) => {
    const own = right.get(each.id);
    if (!own) return [];
    const wanted = { id: each.id, subject: own.subject, participants: own.people.list() };
    return JSON.stringify(wanted) === JSON.stringify(each) ? [] : [wanted];
  });
}
