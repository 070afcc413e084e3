/** Puts e-mails, notes and changes of a conversation into one order of time. */
import type { Email, Thread } from '../mail-types.ts';
import type { HistoryEntry, Note } from './team-types.ts';

export type TimelineItem =
  | { readonly kind: 'email'; readonly time: string; readonly email: Email }
  | { readonly kind: 'note'; readonly time: string; readonly note: Note }
  | { readonly kind: 'change'; readonly time: string; readonly entry: HistoryEntry };

/** Fields whose changes are shown. */
const shownFields: ReadonlySet<string> = new Set(['state', 'assigneeId', 'muted', 'followUpAt']);

/** Oldest first. E-mails keep their order: a note or change is shown after the last e-mail that is not newer. */
export function buildTimeline(emails: readonly Email[], { notes, history }: Thread['team']): readonly TimelineItem[] {
  const changes = history.filter(({ changes }) => changes.some(({ field }) => shownFields.has(field)));
  const others = [
    ...notes.map((note) => ({ kind: 'note' as const, time: note.createdAt, note })),
    ...changes.map((entry) => ({ kind: 'change' as const, time: entry.at, entry })),
  ].sort((one, second) => one.time.localeCompare(second.time));
  const items: TimelineItem[] = [];
  let next = 0;
  for (const email of emails) {
    const time = email.receivedAt ?? '';
    for (let item = others[next]; item !== undefined && item.time < time; item = others[next]) {
      items.push(item);
      next += 1;
    }
    items.push({ kind: 'email', time, email });
  }
  return [...items, ...others.slice(next)];
}
