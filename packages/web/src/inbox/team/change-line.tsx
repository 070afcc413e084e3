import type { ReactNode } from 'react';
import { type InboxTexts, useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { formatFullTime, formatMoment, formatShortTime } from '../times.ts';
import { useMemberName } from './team-data.ts';
import type { HistoryEntry } from './team-types.ts';
import classes from './timeline.module.css';

/** One change of a conversation: who made it, what it was, and when. */
export function ChangeLine({ account, entry }: { account: number; entry: HistoryEntry }): ReactNode {
  const t = useInboxTexts().team;
  const getName = useMemberName(account);
  const sentences = describeChanges(entry, t, getName);
  return (
    sentences.length > 0 && (
      <p className={classes.change}>
        {sentences.join('. ')} ·{' '}
        <time dateTime={entry.at} title={formatFullTime(entry.at)}>
          {formatShortTime(entry.at)}
        </time>
      </p>
    )
  );
}

function describeChanges(
  { actor, at, changes }: HistoryEntry,
  { activity, server }: InboxTexts['team'],
  getName: (user: number | null) => string,
): string[] {
  const [, userId] = /^user:(\d+)$/.exec(actor ?? '') ?? [];
  const who = userId === undefined ? server : getName(Number(userId));
  const values = new Map(changes.map((each) => [each.field, each]));
  const state = values.get('state');
  const assignee = values.get('assigneeId');
  const muted = values.get('muted');
  const sentences: string[] = [];
  if (state?.after === 'closed') sentences.push(activity.closed(who));
  if (state?.after === 'archived') sentences.push(activity.archived(who));
  if (state?.after === 'snoozed')
    sentences.push(activity.snoozed(who, formatMoment(String(values.get('snoozedUntil')?.after ?? at))));
  if (state?.after === 'open') {
    const until = values.get('snoozedUntil')?.before;
    const hasEnded = typeof until === 'string' && Date.parse(until) <= Date.parse(at);
    // A reminder that is due opens the conversation, and has a sentence of its own.
    if (actor !== null || !values.has('followUpAt'))
      sentences.push(actor !== null ? activity.opened(who) : hasEnded ? activity.returned : activity.answered);
  }
  if (assignee) {
    const to = assignee.after === null ? null : Number(assignee.after);
    if (to === null) sentences.push(activity.unassigned(who));
    else sentences.push(String(to) === userId ? activity.took(who) : activity.assigned(who, getName(to)));
  }
  if (muted) sentences.push(muted.after === true ? activity.muted(who) : activity.unmuted(who));
  const followUp = values.get('followUpAt');
  if (followUp?.after) sentences.push(activity.followUp(who, formatMoment(String(followUp.after))));
  else if (followUp) {
    const isDue = Date.parse(String(followUp.before)) <= Date.parse(at);
    const byServer = isDue ? activity.followUpDue : activity.followUpAnswered;
    sentences.push(actor === null ? byServer : activity.followUpRemoved(who));
  }
  return sentences;
}
