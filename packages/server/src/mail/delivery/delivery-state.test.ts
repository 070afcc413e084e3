import { expect, test } from 'vitest';
import { applyReport } from './apply-report.ts';
import { applyAttempt, createDeliveryState, markInterrupted, summariseDelivery } from './delivery-state.ts';
import { makeEnvelopeId, readEnvelopeEmail } from './envelope-id.ts';
import { computeNextAttempt } from './retry-schedule.ts';
import { needsSmtpUtf8, toEnvelopeAddress } from './smtp-abilities.ts';

const minute = 60_000;
const now = Date.UTC(2026, 10, 23);
const outcome = (address: string, result: 'accepted' | 'deferred' | 'failed' | 'unknown') => ({
  address,
  outcome: result,
  code: null,
  reply: null,
});
const two = createDeliveryState('2026-11-23T00:00:00.000Z', ['a@x.example', 'b@x.example']);

test('waits increase up to six hours, and the last attempt is made when two days are over', () => {
  const minutes = [1, 2, 3, 4, 5, 6, 7, 8, 20].map(
    (attempts) => (computeNextAttempt(attempts, now, now, 0)! - now) / minute,
  );
  expect(minutes).toEqual([1, 5, 15, 30, 60, 120, 240, 360, 360]);
  expect(computeNextAttempt(9, now, now + 47 * 60 * minute, 1)).toBe(now + 48 * 60 * minute);
  expect(computeNextAttempt(9, now, now + 48 * 60 * minute)).toBe(null);
});

test.each([
  [['accepted', 'accepted'], 'sent'],
  [['accepted', 'deferred'], 'retrying'],
  [['accepted', 'failed'], 'partlySent'],
  [['failed', 'failed'], 'failed'],
  [['accepted', 'unknown'], 'unknown'],
  [['deferred', 'unknown'], 'unknown'],
] as const)('the outcomes %j make the message %s', ([first, second], status) => {
  const outcomes = [outcome('a@x.example', first), outcome('b@x.example', second)];
  expect(summariseDelivery(applyAttempt(two, { outcomes, problem: null }, now).state)).toBe(status);
});

test('when a worker dies, only the recipients to whom it was transmitting have an unknown outcome', () => {
  const { recipients } = markInterrupted(two, ['a@x.example'], now);
  expect(recipients.map(({ status }) => status)).toEqual(['unknown', 'queued']);
});

test('a report changes the recipient that it names, and only to a later status', () => {
  const outcomes = [outcome('a@x.example', 'accepted'), outcome('b@x.example', 'deferred')];
  const { state } = applyAttempt(two, { outcomes, problem: null }, now);
  const report = (action: 'failed' | 'delayed' | 'delivered', original: string | null) => ({
    envelopeId: null,
    messageIds: [],
    recipients: [{ original, final: 'elsewhere@y.example', action, status: null, diagnostic: null }],
  });
  const at = '2026-11-23T01:00:00.000Z';
  const delivered = applyReport(state, report('delivered', 'a@x.example'), at)!;
  expect(delivered.recipients.map(({ status }) => status)).toEqual(['delivered', 'deferred']);
  expect(applyReport(delivered, report('delayed', 'a@x.example'), at)).toBe(null);
  expect(applyReport(state, report('failed', 'b@x.example'), at)).toBe(null);
  expect(applyReport(state, report('failed', null), at)).toBe(null);
});

test('the envelope id of a message contains the id of its e-mail', () => {
  const id = makeEnvelopeId(1882811831156742, 'm@x.example');
  expect([
    readEnvelopeEmail(` ${id} `),
    readEnvelopeEmail('7'),
    readEnvelopeEmail(`${'9'.repeat(17)}.0123456789abcdef`),
  ]).toEqual([1882811831156742, null, null]);
});

test('domains beyond ASCII have an ASCII form, the part before the @ needs SMTPUTF8', () => {
  expect([toEnvelopeAddress('ann@bücher.example'), toEnvelopeAddress(''), toEnvelopeAddress('jörg@x.example')]).toEqual(
    ['ann@xn--bcher-kva.example', '', 'jörg@x.example'],
  );
  expect([needsSmtpUtf8('ann@bücher.example'), needsSmtpUtf8('jörg@x.example'), needsSmtpUtf8('')]).toEqual([
    false,
    true,
    false,
  ]);
});
