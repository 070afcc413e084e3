import { expect, test } from 'vitest';
import {
  applyOutcome,
  type CampaignMessageState,
  countChange,
  describeActivity,
  type MessageOutcome,
} from './message-state.ts';

const queued: CampaignMessageState = {
  status: 'queued',
  reason: null,
  sentAt: null,
  bouncedAt: null,
  repliedAt: null,
  unsubscribedAt: null,
  openedAt: null,
  clickedAt: null,
};
const types = [
  'sending',
  'sent',
  'failed',
  'unknown',
  'replied',
  'unsubscribed',
  'skipped',
  'opened',
  'clicked',
  'cancelled',
] as const;
const toOutcome = (type: (typeof types)[number], index: number): MessageOutcome => {
  const at = new Date(index).toISOString();
  return type === 'failed' || type === 'skipped' || type === 'cancelled' ? { type, at, reason: type } : { type, at };
};

/** Applies the outcomes in order. Returns the final state, the sums of the counters, and the activities. */
function follow(...list: (typeof types)[number][]) {
  let state = queued;
  const counts: Record<string, number> = {};
  const activities: string[] = [];
  for (const [index, type] of list.entries()) {
    const next = applyOutcome(state, toOutcome(type, index + 1));
    if (!next) continue;
    for (const [name, change] of Object.entries(countChange(state, next))) counts[name] = (counts[name] ?? 0) + change;
    const activity = describeActivity(state, next);
    if (activity !== null) activities.push(activity);
    state = next;
  }
  const counted = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
  return { state, counted, activities };
}

test('outcomes after sending change the status, and each one is counted once', () => {
  expect(follow('sending', 'sent', 'sent', 'replied', 'replied')).toMatchObject({
    state: { status: 'replied', sentAt: '1970-01-01T00:00:00.002Z' },
    counted: { sent: 1, replied: 1 },
    activities: ['sent', 'replied'],
  });
  expect(follow('sending', 'sent', 'failed', 'unsubscribed')).toMatchObject({
    state: { status: 'unsubscribed' },
    counted: { sent: 1, bounced: 1, unsubscribed: 1 },
    activities: ['sent', 'bounced', 'unsubscribed'],
  });
});

test('a refusal before the message was sent is no bounce; a reply proves that a message with an unknown outcome was sent', () => {
  expect(follow('sending', 'failed')).toMatchObject({
    state: { status: 'failed', reason: 'failed' },
    counted: { failed: 1 },
  });
  expect(follow('sending', 'failed', 'sending', 'sent')).toMatchObject({
    state: { status: 'sent', reason: null },
    counted: { sent: 1 },
  });
  expect(follow('sending', 'unknown', 'replied')).toMatchObject({
    state: { status: 'replied' },
    counted: { sent: 1, replied: 1 },
    activities: ['unknown', 'replied'],
  });
});

test('the counters match the state after any order of outcomes', () => {
  for (let seed = 0; seed < 10_000; seed += 1) {
    const list = [1, 10, 100, 1000].map((unit) => types[Math.floor(seed / unit) % 10] as (typeof types)[number]);
    const { state, counted } = follow(...list);
    const { status, sentAt, bouncedAt, repliedAt, unsubscribedAt, openedAt, clickedAt } = state;
    const facts = {
      ...(sentAt && { sent: 1 }),
      ...(bouncedAt && { bounced: 1 }),
      ...(repliedAt && { replied: 1 }),
      ...(unsubscribedAt && { unsubscribed: 1 }),
      ...(openedAt && { opened: 1 }),
      ...(clickedAt && { clicked: 1 }),
      ...(['failed', 'unknown', 'skipped'].includes(status) && { [status]: 1 }),
    };
    expect({ list, counted }).toEqual({ list, counted: facts });
    if (sentAt !== null) expect(['sent', 'replied', 'bounced', 'unsubscribed']).toContain(status);
  }
});
