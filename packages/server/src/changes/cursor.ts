/**
 * Places in the event log. Inside, a position: `<transaction>.<number>`, where one process writes `0.<number>`. On the
 * wire, a cursor: the position with the epoch of its log and a mark of the event that stands there.
 *
 * The mark makes a cursor tell where it comes from: a store that was restored from a copy goes on from an earlier place
 * and gives the same positions to other events, so a cursor of what was lost fits no event there.
 */
import { hash } from 'node:crypto';
import { ApiError } from '../protocol/api-error.ts';

/** Before every event. */
export const beginning = '0.0';

/** What a cursor says. */
export interface Cursor {
  readonly epoch: string;
  readonly position: string;
  readonly mark: string;
}

/** What an event is told apart by: 32 bits are plenty beside the position. */
export interface Marked {
  readonly position: string;
  readonly at: string;
  readonly name: string;
  readonly tk: string | null;
  readonly requestId: string | null;
}

const form = /^([0-9a-f]{8})\.(\d{1,20}\.\d{1,20})\.([0-9a-f]{8}|-)$/;
/** No event stands at the beginning. */
const noMark = '-';

export function markOf({ at, name, tk, requestId }: Marked): string {
  return hash('sha256', `${at} ${name} ${tk} ${requestId}`).slice(0, 8);
}

/** @param epoch of the log: a UUID, of which the first part is told. */
export function encodeCursor(epoch: string, event: Marked | null): string {
  const place = event ? `${event.position}.${markOf(event)}` : `${beginning}.${noMark}`;
  return Buffer.from(`${epoch.slice(0, 8)}.${place}`).toString('base64url');
}

/** @throws ApiError `CURSOR_INVALID` for what no log ever gave. */
export function decodeCursor(text: string): Cursor {
  const match = text.length <= 120 ? form.exec(Buffer.from(text, 'base64url').toString('latin1')) : null;
  if (!match)
    throw new ApiError('CURSOR_INVALID', 'since is no cursor; take meta.nextCursor, or the cursor of an event.');
  const [, epoch, position, mark] = match;
  return { epoch: epoch!, position: position!, mark: mark! };
}

/** Whether one position comes after another. */
export function isAfter(one: string, other: string): boolean {
  if (one === other) return false;
  const [first, second] = numbers(one);
  const [otherFirst, otherSecond] = numbers(other);
  return first === otherFirst ? second > otherSecond : first > otherFirst;
}

function numbers(position: string): [bigint, bigint] {
  const point = position.indexOf('.');
  return [BigInt(position.slice(0, point)), BigInt(position.slice(point + 1))];
}
