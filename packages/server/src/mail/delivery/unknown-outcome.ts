/** When a message whose outcome is unknown is looked for among the sent messages. */
import { type DeliveryState, isUnknown } from './delivery-state.ts';

const minute = 60_000;
/** Times after the loss of the connection. Most servers file a message within seconds. */
const lookupTimes = [1, 5, 15, 60, 240, 1440].map((minutes) => minutes * minute);

/** When the next lookup is due, as ISO 8601; null: none follows, so the user decides. */
export function computeNextLookup(state: DeliveryState, now: number): string | null {
  const times = state.recipients.filter(isUnknown).map(({ at }) => Date.parse(at ?? ''));
  if (times.length === 0) return null;
  const lost = Math.max(...times);
  const next = lookupTimes.find((wait) => lost + wait > now);
  return next === undefined ? null : new Date(lost + next).toISOString();
}
