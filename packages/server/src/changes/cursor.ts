/**
 * Cursors of the event log. On the wire, a cursor is a position (see event-position.ts) with the epoch of its log and a hash
 * of the event at that position.
 *
 * The hash detects lost events: a store that was restored from a backup continues from an earlier position and gives the
 * same positions to other events, so that a cursor of a lost event matches no event there.
 */
import { hash } from 'node:crypto';
import { startPosition } from '../database/event-position.ts';
import { ApiError } from '../protocol/api-error.ts';

export { isAfter, startPosition } from '../database/event-position.ts';

/** The parts of a cursor. */
export interface EventCursor {
  readonly epoch: string;
  readonly position: string;
  readonly eventHash: string;
}

/** The parts of an event that its hash covers: 32 bits suffice together with the position. */
export interface CursorEvent {
  readonly position: string;
  readonly at: string;
  readonly name: string;
  readonly tk: string | null;
  readonly requestId: string | null;
}

const cursorPattern = /^([0-9a-f]{8})\.(\d{1,20}\.\d{1,20})\.([0-9a-f]{8}|-)$/;
/** The hash in a cursor before the first event. */
const noEventHash = '-';

/** The hash of an event in its cursor: 8 hexadecimal digits. */
export function hashEvent({ at: time, name, tk: key, requestId }: CursorEvent): string {
  return hash('sha256', `${time} ${name} ${key} ${requestId}`).slice(0, 8);
}

/** The cursor of an event; null: before the first one. @param epoch of the log: a UUID, whose first part enters the cursor. */
export function encodeEventCursor(epoch: string, event: CursorEvent | null): string {
  const positionAndHash = event ? `${event.position}.${hashEvent(event)}` : `${startPosition}.${noEventHash}`;
  return Buffer.from(`${epoch.slice(0, 8)}.${positionAndHash}`).toString('base64url');
}

/** The parts of a cursor. @throws ApiError `CURSOR_INVALID` for a text that no log has ever given. */
export function decodeEventCursor(text: string): EventCursor {
  const match = text.length <= 120 ? cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1')) : null;
  if (!match)
    throw new ApiError('CURSOR_INVALID', '"since" is not a cursor. Use meta.nextCursor, or the cursor of an event.');
  const [, epoch = '', position = '', eventHash = ''] = match;
  return { epoch, position, eventHash };
}
