import type { Lease } from '../applications/open-applications.ts';
import { tokenMissing } from '../identity/authenticator.ts';
import { askedChanges, changesPage } from '../realtime/changes-page.ts';
import { publish } from '../realtime/publish.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { eventStream } from './event-stream.ts';
import { knownParameters } from './known-parameters.ts';
import { networkOf } from './network.ts';

/** `changes:`, and events as they come where a client holds the connection open. */
export const changeActions: Readonly<Record<string, SystemAction>> = {
  'changes:list': { reads: true, run: list },
  'changes:publish': { reads: false, run: published },
  'realtime:listen': { reads: true, run: listen },
};

/** A stream counts as an open connection until it gives back the lease that it holds. */
function listen(call: Call): Promise<Answer> {
  const hold = (): Lease => {
    const leave = call.limits.connections.enterAs(whoOf(call));
    const lease = call.hold();
    const release = (): void => {
      leave();
      lease.release();
    };
    return { ...lease, release };
  };
  return eventStream({ ...call, hold });
}

/** A credential, or the network of who has none. */
function whoOf({ application, caller, address }: Call): string {
  return caller.credentialId === null
    ? `address ${networkOf(address)}`
    : `${application.name} ${caller.type} ${caller.credentialId}`;
}

async function list(call: Call): Promise<Answer> {
  if (call.caller.type === 'anonymous' && call.parameters()['resource'] === undefined) throw tokenMissing();
  const asked = askedChanges(knownParameters(call, ['since', 'resource', 'wait', 'pageSize']));
  const leave = asked.wait > 0 ? call.limits.waiters.enterAs(whoOf(call)) : null;
  try {
    const { data, meta } = await changesPage(call.application, call.contextNow, asked, call.gone);
    return { data, meta, counter: 0 };
  } finally {
    leave?.();
  }
}

async function published(call: Call): Promise<Answer> {
  knownParameters(call, [], false);
  const { application, caller, requestId } = call;
  return { data: JSON.stringify(await publish(application.recordContext(caller, requestId), call.body)) };
}
