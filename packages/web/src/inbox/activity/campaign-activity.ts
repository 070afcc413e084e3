/**
 * The campaign events since the application was opened, newest first. They are kept when the user visits other pages.
 */
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
  /** A short summary of the payload in one line. */
  readonly summary: string;
  /** The key of the campaign, for events of the server's own campaigns; null for published ones. */
  readonly campaign: number | null;
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

/** The campaign events; empty for roles that may not subscribe to them. */
export function useCampaignActivity(): readonly Activity[] {
  const [application, role] = useScope();
  // Another user starts with an empty list.
  const key = JSON.stringify([application, role, useLoginGeneration(application)]);
  useRealtimeEvents(
    'campaign',
    (event) => addActivity(key, toActivity(event)),
    () => {},
  );
  return useStoreValue(activitiesByScope, (byScope) => byScope.get(key) ?? noActivities);
}

function toActivity({ cursor, name, at: time, payload, tk }: Event): Activity {
  const campaign = tk === null ? null : Number(tk);
  return { cursor, name: name.replace(/^campaign\./, ''), time, summary: summarisePayload(payload), campaign };
}

const maxDetailLength = 60;
const maxSummaryLength = 160;

/**
 * A summary such as `to: 12 · subject: Spring`. The payload is untrusted and shown as plain text; nested values are
 * left out.
 */
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
