/**
 * Places in the event log. Inside, a position: `<transaction>.<number>`, where one process writes `0.<number>`. On the
 * wire, a cursor: the position with the epoch of its log and a mark of the event that stands there.
 *
 * The mark makes a cursor tell where it comes from: a store that was restored from a copy goes on from an earlier place
 * and gives the same positions to other events, so a cursor of what was lost fits no event there.
 */
import { hash } from 'node:crypto';
import { startPosition } from '../database/event-position.ts';
import { ApiError } from '../protocol/api-error.ts';

export { isAfter, startPosition } from '../database/event-position.ts';

/** What a cursor says. */
export interface EventCursor {
  readonly epoch: string;
  readonly position: string;
  readonly eventHash: string;
}

/** What an event is told apart by: 32 bits are plenty beside the position. */
export interface CursorEvent {
  readonly position: string;
  readonly at: string;
  readonly name: string;
  readonly tk: string | null;
  readonly requestId: string | null;
}

const cursorPattern = /^([0-9a-f]{8})\.(\d{1,20}\.\d{1,20})\.([0-9a-f]{8}|-)$/;
/** No event stands at the beginning. */
const noEventHash = '-';

export function hashEvent({ at: time, name, tk: key, requestId }: CursorEvent): string {
  return hash('sha256', `${time} ${name} ${key} ${requestId}`).slice(0, 8);
}

/** @param epoch of the log: a UUID, of which the first part is told. */
export function encodeEventCursor(epoch: string, event: CursorEvent | null): string {
  const positionAndHash = event ? `${event.position}.${hashEvent(event)}` : `${startPosition}.${noEventHash}`;
  return Buffer.from(`${epoch.slice(0, 8)}.${positionAndHash}`).toString('base64url');
}

/** @throws ApiError `CURSOR_INVALID` for what no log ever gave. */
export function decodeEventCursor(text: string): EventCursor {
  const match = text.length <= 120 ? cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1')) : null;
  if (!match)
    throw new ApiError('CURSOR_INVALID', 'since is no cursor; take meta.nextCursor, or the cursor of an event.');
  const [, epoch, position, eventHash] = match;
  return { epoch: epoch!, position: position!, eventHash: eventHash! };
}
