import { tokenMissing } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { askedChanges, changesPage } from '../realtime/changes-page.ts';
import { publish } from '../realtime/publish.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { eventStream } from './event-stream.ts';
import { knownParameters } from './known-parameters.ts';

/** `changes:`, and events as they come where a client holds the connection open. */
export const changeActions: Readonly<Record<string, SystemAction>> = {
  'changes:list': { reads: true, run: list },
  'changes:publish': { reads: false, run: published },
  'realtime:listen': { reads: true, run: eventStream },
};

/** Requests of this server that wait. */
let waiting = 0;

async function list(call: Call): Promise<Answer> {
  if (call.caller.type === 'anonymous' && call.parameters()['resource'] === undefined) throw tokenMissing();
  const asked = askedChanges(knownParameters(call, ['since', 'resource', 'wait', 'pageSize']));
  if (asked.wait > 0 && waiting >= limits.waiters)
    throw new ApiError('BUSY', `${limits.waiters} requests wait for events already; ask without wait.`, {
      retryAfter: 5,
    });
  waiting += 1;
  try {
    const { data, meta } = await changesPage(call.application, call.contextNow, asked, call.gone);
    return { data, meta, counter: 0 };
  } finally {
    waiting -= 1;
  }
}

async function published(call: Call): Promise<Answer> {
  knownParameters(call, [], false);
  const { application, caller, requestId } = call;
  return { data: JSON.stringify(await publish(application.recordContext(caller, requestId), call.body)) };
}
