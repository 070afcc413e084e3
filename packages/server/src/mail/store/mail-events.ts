import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import { recordEvent } from '../../changes/record-event.ts';
import type { Transaction } from '../../database/database.ts';
import { formatActor } from '../../identity/caller.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { IngestActor } from './incoming-mail.ts';

/** An event about records of mail. */
export interface MailEvent {
  /** `<collection>.<verb>`, such as `emails.updated`. */
  readonly name: `${string}.${string}`;
  readonly keys: readonly number[];
  /** Names of the fields that changed. */
  readonly changed?: readonly string[];
}

/** Whom events are attributed to, and where they are appended. */
export interface MailEventSource extends IngestActor {
  readonly changes: ChangeLog;
  readonly clock: Clock;
}

/** Appends an event to the event log. The audit journal does not record it: changes of mail are everyday work. */
export async function appendMailEvent(
  transaction: Transaction,
  { changes, clock, actor, requestId }: MailEventSource,
  { name, keys, changed = [] }: MailEvent,
): Promise<void> {
  const [resource = '', verb = ''] = name.split('.');
  const event = { ...recordEvent(resource, verb, keys, { requestId, changed }), actor };
  await changes.append(transaction, event, isoTime(clock.now()));
}

/** The same on behalf of the caller of a request. */
export function emitMailEvent(
  { changes, caller, clock, requestId }: RecordContext,
  transaction: Transaction,
  event: MailEvent,
): Promise<void> {
  return appendMailEvent(transaction, { changes, clock, actor: formatActor(caller), requestId }, event);
}
