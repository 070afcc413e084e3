/**
 * Replies that say of no message what they answer. Such a reply belongs to messages of the same subject with somebody in
 * common, within thirty days. The sign holds both ways, so that the order of arrival does not matter.
 */
import type { SubjectMate } from '../../database/mail/mail-writer.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import type { Joining } from './conversation-groups.ts';

export interface Mate {
  readonly subjectKey: string | null;
  readonly looseReply: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** In lower case. */
  readonly addresses: readonly string[];
}

type Links = Pick<Joining, 'conversations' | 'mates'>;

const longestMilliseconds = 30 * 86_400_000;
/** Messages of a subject that are looked at: what has more is no conversation. */
const mostOfSubject = 100;

/** For each message, the conversations and the other messages that it belongs to by this sign. */
export async function looseLinks(
  stored: { ofSubjects(subjects: readonly string[], most: number): Promise<readonly SubjectMate[]> },
  account: MailAccount,
  messages: readonly Mate[],
): Promise<Links[]> {
  const subjects = new Set(messages.flatMap(({ subjectKey }) => (subjectKey === null ? [] : [subjectKey])));
  const there = Map.groupBy(await stored.ofSubjects([...subjects], mostOfSubject), (each) => each.subjectKey);
  const together = Map.groupBy([...messages.entries()], ([, each]) => each.subjectKey);
  const own = account.address.toLowerCase();
  return messages.map((message, index): Links => {
    if (message.subjectKey === null) return { conversations: [], mates: [] };
    const conversations = (there.get(message.subjectKey) ?? [])
      .filter((each) => belong(message, each, own))
      .map((each) => each.conversationId);
    const mates = together
      .get(message.subjectKey)!
      .filter(([place, each]) => place < index && belong(message, each, own))
      .map(([place]) => place);
    return { conversations: [...new Set(conversations)], mates };
  });
}

/** The account's own address is in all of its mail, and so says nothing. */
function belong(one: Mate, other: Omit<Mate, 'subjectKey'>, own: string): boolean {
  if (!one.looseReply && !other.looseReply) return false;
  if (Math.abs(one.at - other.at) > longestMilliseconds) return false;
  const people = new Set(one.addresses);
  return other.addresses.some((each) => each !== own && each !== '' && people.has(each));
}
