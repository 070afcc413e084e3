/** Finds the conversations of new messages, and adds their senders and recipients to the participants. */
import { getElement, pairUp } from '../../base/aligned-lists.ts';
import type { MailWriter } from '../../database/mail/mail-writer.ts';
import { type Groups, groupIntoConversations } from '../threads/conversation-groups.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { Participants } from '../threads/participants.ts';
import type { findSubjectMatches } from '../threads/subject-matches.ts';
import type { ParsedIncomingMail } from './new-email.ts';

/** The conversations of some new messages. */
export interface JoinedConversations {
  /** For each message. */
  readonly conversations: readonly number[];
  readonly created: ReadonlySet<number>;
  readonly merges: Groups['merges'];
  /** Stored e-mails that belong to another conversation now. */
  readonly moved: readonly number[];
}

/** Finds the conversation of each message. Creates one for each message that begins one, and merges those that turn out to be one. */
export async function joinConversations(
  writer: MailWriter,
  fresh: readonly ParsedIncomingMail[],
  matches: Awaited<ReturnType<typeof findSubjectMatches>>,
): Promise<JoinedConversations> {
  const known = await writer.findThreadConversations([...new Set(fresh.flatMap(({ threadKeys }) => threadKeys.keys))]);
  const { placements, merges } = groupIntoConversations(
    pairUp(fresh, matches).map(([{ threadKeys }, match]) => ({ keys: threadKeys.keys, ...match })),
    known,
  );
  const moved: number[] = [];
  for (const { into, others } of merges) moved.push(...(await writer.merge(into, others)));
  const firsts = [...new Set(placements.flatMap((placement) => ('first' in placement ? [placement.first] : [])))];
  const subjects = firsts.map((first) => conversationSubject(getElement(fresh, first).mail.subject));
  const ids = await writer.addConversations(subjects);
  const idByFirst = new Map(pairUp(firsts, ids));
  return {
    conversations: placements.map((placement) => {
      if (!('first' in placement)) return placement.conversation;
      const id = idByFirst.get(placement.first);
      if (id === undefined) throw new Error('a conversation was not created');
      return id;
    }),
    created: new Set(ids),
    merges,
    moved,
  };
}

/** The conversations that a merge changes. */
export function listMerged(merges: Groups['merges']): number[] {
  return merges.flatMap(({ into, others }) => [into, ...others]);
}

/**
 * Adds the senders and recipients of messages to the participants of their conversations, and those of merged conversations
 * to the conversation that they are merged into.
 *
 * @param placed messages, each with its conversation.
 */
export async function addParticipants(
  writer: MailWriter,
  placed: readonly (readonly [message: Pick<ParsedIncomingMail, 'mail'>, conversation: number])[],
  merges: Groups['merges'] = [],
): Promise<void> {
  const ids = [...placed.map(([, conversation]) => conversation), ...listMerged(merges)];
  const present = await writer.readParticipants([...new Set(ids)]);
  const participantsById = new Map<number, Participants>();
  const getParticipants = (id: number): Participants => {
    const people = participantsById.get(id) ?? new Participants(present.get(id));
    participantsById.set(id, people);
    return people;
  };
  for (const { into, others } of merges)
    for (const other of others) getParticipants(into).addAll(present.get(other) ?? []);
  for (const [{ mail }, conversation] of placed)
    getParticipants(conversation).add({ from: mail.from, others: [...mail.to, ...mail.cc] });
  for (const [id, people] of participantsById) {
    const list = people.list();
    if (JSON.stringify(list) !== JSON.stringify(present.get(id))) await writer.setParticipants(id, list);
  }
}
