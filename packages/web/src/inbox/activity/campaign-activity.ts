/** What campaigns did since the page was opened, the newest first; kept while somebody goes to other pages. */
import type { Event } from '@tablinum/client';
import { useSyncExternalStore } from 'react';
import { useLive } from '../../data/live.ts';
import { useScope } from '../../data/queries.ts';
import { useLoginGeneration } from '../../data/session.ts';

export interface Activity {
  readonly cursor: string;
  /** `sent` of `campaign.sent`. */
  readonly name: string;
  /** ISO 8601 */
  readonly at: string;
  /** A line of what the event carries, as far as it fits. */
  readonly facts: string;
}

const mostKept = 100;
const nobody: readonly Activity[] = [];
const kept = new Map<string, readonly Activity[]>();
const listeners = new Set<() => void>();

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function note(key: string, activity: Activity): void {
  const before = kept.get(key) ?? nobody;
  if (before.some(({ cursor }) => cursor === activity.cursor)) return;
  kept.set(key, [activity, ...before].slice(0, mostKept));
  for (const listener of listeners) listener();
}

/** Listens while it is used; roles that may not hear of campaigns get an empty list. */
export function useCampaignActivity(): readonly Activity[] {
  const [application, role] = useScope();
  // Another login begins with nothing.
  const key = JSON.stringify([application, role, useLoginGeneration(application)]);
  useLive(
    'campaign',
    (event) => note(key, activityOf(event)),
    () => {},
  );
  return useSyncExternalStore(subscribe, () => kept.get(key) ?? nobody);
}

function activityOf({ cursor, name, at, payload }: Event): Activity {
  return { cursor, name: name.replace(/^campaign\./, ''), at, facts: factsOf(payload) };
}

const longestFact = 60;
const longestLine = 160;

/** `to: 12 · subject: Spring`: what a stranger put into an event, as plain words; nothing inside of it is followed. */
export function factsOf(payload: unknown): string {
  if (payload === null || payload === undefined) return '';
  if (typeof payload !== 'object') return cut(String(payload), longestLine);
  const facts = Object.entries(payload).flatMap(([name, value]) =>
    value !== null && ['string', 'number', 'boolean'].includes(typeof value)
      ? [`${cut(name, longestFact)}: ${cut(String(value), longestFact)}`]
      : [],
  );
  return cut(facts.slice(0, 8).join(' · '), longestLine);
}

function cut(text: string, most: number): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line;
}
