import { Badge, Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApiQuery } from '../../data/queries.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { listSenders } from '../compose/senders.ts';
import { useAccounts } from '../mail-queries.ts';
import type { Attachment, Email } from '../mail-types.ts';
import { formatEventTime } from './event-times.ts';
import type { CalendarPerson, Invitation } from './invitation.ts';
import { answers, type InvitationAnswer } from './invitation-answers.ts';
import classes from './invitation-card.module.css';
import { useAnswer } from './use-answer.ts';

/** Larger calendar files are only attachments. */
const maxBytes = 1_000_000;
const shownAttendees = 8;

interface InvitationCardProps {
  readonly email: Email;
  /** The conversation of the e-mail; null if it is not known. */
  readonly conversation: number | null;
  /** Whether the role may send. */
  readonly mayAnswer: boolean;
}

/** The event of the first calendar file of a message; nothing without one, or if it cannot be read. */
export function InvitationCard(props: InvitationCardProps): ReactNode {
  const file = props.email.attachments?.find(isCalendar);
  return file ? <CalendarFile key={file.id} file={file} {...props} /> : null;
}

function isCalendar({ contentType, size }: Attachment): boolean {
  return /^(?:text\/calendar|application\/ics)$/i.test(contentType ?? '') && (size ?? 0) <= maxBytes;
}

function CalendarFile({ file, ...props }: InvitationCardProps & { readonly file: Attachment }): ReactNode {
  const { data, isPending } = useApiQuery(
    ['mail-calendar', file.id],
    async (client) => {
      // The parser is only loaded for messages with a calendar.
      const [{ default: library }, { readInvitation }, response] = await Promise.all([
        import('ical.js'),
        import('./invitation.ts'),
        client.send(`attachments/${file.id}`),
      ]);
      const text = await response.text();
      try {
        return { text, invitation: readInvitation(text, library) };
      } catch {
        // It stays an attachment.
        return { text, invitation: null };
      }
    },
    { staleTime: Number.POSITIVE_INFINITY },
  );
  // The text below does not move when the card is complete.
  if (isPending) return <div className={classes.card} data-waiting />;
  return data?.invitation ? <Event {...props} text={data.text} invitation={data.invitation} /> : null;
}

interface EventProps extends InvitationCardProps {
  readonly text: string;
  readonly invitation: Invitation;
}

function Event(props: EventProps): ReactNode {
  const { invitation, email, mayAnswer } = props;
  const t = useInboxTexts().reading.invitation;
  const { summary, location, start, end, organizer, attendees, repeats, moreEvents, isCancelled } = invitation;
  const invited = useInvitedAddress(email, attendees);
  const isAnswerable =
    mayAnswer && invited !== null && organizer !== null && !isCancelled && invitation.method === 'REQUEST';
  return (
    <section className={classes.card} aria-label={t.title}>
      <div className={classes.head}>
        <Icon name="calendar" size={18} />
        <strong className={classes.summary} dir="auto" data-cancelled={isCancelled || undefined}>
          {summary || t.untitled}
        </strong>
        <EventState invitation={invitation} />
      </div>
      <dl className={classes.facts}>
        {start && <Fact name={t.when}>{formatEventTime(start, end)}</Fact>}
        {repeats && <Fact name={t.repeats}>{t.repetition(repeats)}</Fact>}
        {location !== '' && <Fact name={t.where}>{location}</Fact>}
        {organizer && <Fact name={t.organizer}>{formatPerson(organizer)}</Fact>}
        {attendees.length > 0 && (
          <Fact name={t.attendees}>
            <Attendees invitation={invitation} />
          </Fact>
        )}
      </dl>
      {moreEvents > 0 && <p className={classes.note}>{t.moreEvents(moreEvents)}</p>}
      {isAnswerable && <AnswerButtons {...props} address={invited.address} stored={invited.answer} />}
    </section>
  );
}

function EventState({ invitation }: { invitation: Invitation }): ReactNode {
  const t = useInboxTexts().reading.invitation;
  const { method, isCancelled, isUpdate, attendees } = invitation;
  if (isCancelled)
    return (
      <Badge color="red" variant="light" tt="none">
        {t.cancelled}
      </Badge>
    );
  if (method === 'REPLY') {
    const [who] = attendees;
    const answer = answers.find((each) => each === who?.answer);
    return (
      who &&
      answer && (
        <Badge variant="light" tt="none">
          {t.answered(who.name || who.address, t.answers[answer])}
        </Badge>
      )
    );
  }
  return (
    method === 'REQUEST' &&
    isUpdate && (
      <Badge color="yellow" variant="light" tt="none" c="var(--mantine-color-text)">
        {t.updated}
      </Badge>
    )
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  );
}

function Attendees({ invitation: { attendees, moreAttendees } }: { invitation: Invitation }): ReactNode {
  const t = useInboxTexts().reading.invitation;
  const describe = (person: CalendarPerson): string => {
    const answer = answers.find((each) => each === person.answer);
    return answer ? t.attendee(formatPerson(person), t.answers[answer]) : formatPerson(person);
  };
  const more = moreAttendees + Math.max(0, attendees.length - shownAttendees);
  return [...attendees.slice(0, shownAttendees).map(describe), ...(more > 0 ? [t.more(more)] : [])].join(', ');
}

function formatPerson({ name, address }: CalendarPerson): string {
  return name === '' || name === address ? address : `${name} (${address})`;
}

/** The attendee that is a verified address of the account; null if the user is not invited by one. */
function useInvitedAddress({ accountId }: Email, attendees: readonly CalendarPerson[]): CalendarPerson | null {
  const { data } = useAccounts();
  const own = new Set(
    listSenders(data?.ownAccounts ?? [])
      .filter((sender) => sender.accountId === accountId)
      .map(({ address }) => address),
  );
  return attendees.find(({ address }) => own.has(address.toLowerCase())) ?? null;
}

function AnswerButtons({
  stored,
  ...parts
}: EventProps & { readonly address: string; readonly stored: string | null }): ReactNode {
  const t = useInboxTexts().reading.invitation;
  const { given, give } = useAnswer(parts);
  const current: string | null = given ?? stored;
  return (
    <Group gap="xs" role="group" aria-label={t.answer}>
      {answers.map((answer: InvitationAnswer) => (
        <Button
          key={answer}
          size="compact-md"
          variant={current === answer ? 'filled' : 'default'}
          aria-pressed={current === answer}
          onClick={() => void give(answer)}
        >
          {t.verbs[answer]}
        </Button>
      ))}
    </Group>
  );
}
