/** What campaigns did since the page was opened, the newest first; kept while somebody goes to other pages. */
import type { Event } from '@tablinum/client';
import { useScope } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { useLoginGeneration } from '../../data/session.ts';
import { useStoreValue, ValueStore } from '../../ui/store.ts';

export interface Activity {
  readonly cursor: string;
  /** `sent` of `campaign.sent`. */
  readonly name: string;
  /** ISO 8601 */
  readonly time: string;
  /** A line of what the event carries, as far as it fits. */
  readonly summary: string;
}

const maxActivities = 100;
const noActivities: readonly Activity[] = [];
const activitiesByScope = new ValueStore<ReadonlyMap<string, readonly Activity[]>>(new Map());

function addActivity(key: string, activity: Activity): void {
  const before = activitiesByScope.state.get(key) ?? noActivities;
  if (before.some(({ cursor }) => cursor === activity.cursor)) return;
  const activities = [activity, ...before].slice(0, maxActivities);
  activitiesByScope.set(new Map(activitiesByScope.state).set(key, activities));
}

/** Listens while it is used; roles that may not hear of campaigns get an empty list. */
export function useCampaignActivity(): readonly Activity[] {
  const [application, role] = useScope();
  // Another login begins with nothing.
  const key = JSON.stringify([application, role, useLoginGeneration(application)]);
  useRealtimeEvents(
    'campaign',
    (event) => addActivity(key, toActivity(event)),
    () => {},
  );
  return useStoreValue(activitiesByScope, (byScope) => byScope.get(key) ?? noActivities);
}

function toActivity({ cursor, name, at: time, payload }: Event): Activity {
  return { cursor, name: name.replace(/^campaign\./, ''), time, summary: summarisePayload(payload) };
}

const maxDetailLength = 60;
const maxSummaryLength = 160;

/** `to: 12 · subject: Spring`: what a stranger put into an event, as plain words; nothing inside of it is followed. */
export function summarisePayload(payload: unknown): string {
  if (payload === null || payload === undefined) return '';
  if (typeof payload !== 'object') return truncateLine(String(payload), maxSummaryLength);
  const details = Object.entries(payload).flatMap(([name, value]) =>
    value !== null && ['string', 'number', 'boolean'].includes(typeof value)
      ? [`${truncateLine(name, maxDetailLength)}: ${truncateLine(String(value), maxDetailLength)}`]
      : [],
  );
  return truncateLine(details.slice(0, 8).join(' · '), maxSummaryLength);
}

function truncateLine(text: string, maxLength: number): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).toWellFormed()}…` : line;
}
