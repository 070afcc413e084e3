/** Answers that name no message they answer, and the messages that they answer as far as anybody can tell. */
import type { SubjectMate } from '../../database/mail/mail-writer.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import type { Joining } from './conversation-groups.ts';
import { joinsBySubject, type ThreadedMail } from './thread-key.ts';
import type { ThreadSigns } from './thread-signs.ts';

type Links = Pick<Joining, 'conversations' | 'mates'>;
type Mate = Pick<ThreadSigns, 'orphan' | 'threaded'>;

/** Messages of a subject that are looked at: what has more is no conversation. */
const mostOfSubject = 100;

/** For each message, the conversations and the other messages that it belongs to by its subject. */
export async function looseLinks(
  stored: { ofSubjects(subjects: readonly string[], most: number): Promise<readonly SubjectMate[]> },
  account: MailAccount,
  messages: readonly ThreadSigns[],
): Promise<Links[]> {
  const subjects = new Set(messages.flatMap(({ subjectKey }) => (subjectKey === null ? [] : [subjectKey])));
  const there = Map.groupBy(await stored.ofSubjects([...subjects], mostOfSubject), (each) => each.subjectKey);
  const together = Map.groupBy([...messages.entries()], ([, each]) => each.subjectKey);
  const own = new Set([account.address.toLowerCase()]);
  return messages.map((message, index): Links => {
    if (message.subjectKey === null) return { conversations: [], mates: [] };
    const conversations = (there.get(message.subjectKey) ?? [])
      .filter((each) => belong(message, mateOf(each), own))
      .map((each) => each.conversationId);
    const mates = together
      .get(message.subjectKey)!
      .filter(([place, each]) => place < index && belong(message, each, own))
      .map(([place]) => place);
    return { conversations: [...new Set(conversations)], mates };
  });
}

/** Whichever of the two came first: the order of arrival decides nothing. */
function belong(one: Mate, other: Mate, own: ReadonlySet<string>): boolean {
  return (
    (one.orphan && joinsBySubject(one.threaded, other.threaded, own)) ||
    (other.orphan && joinsBySubject(other.threaded, one.threaded, own))
  );
}

/** Only what is from no list has a key of its subject, and only orphans are asked about what they name. */
function mateOf({ orphan, at, subject, from, to, cc }: SubjectMate): Mate {
  const threaded: ThreadedMail = {
    messageId: null,
    inReplyTo: [],
    references: [],
    bulk: false,
    at,
    subject,
    from,
    to,
    cc,
  };
  return { orphan, threaded };
}
