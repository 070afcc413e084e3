import type { Lease } from '../applications/application-lease.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import { parseChangesRequest, readChangesPage } from '../realtime/changes-page.ts';
import { publish } from '../realtime/publish.ts';
import { openEventStream } from './event-stream.ts';
import { readKnownParameters } from './known-parameters.ts';
import { toNetwork } from './network.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** `changes:`, and streams of events over connections that clients keep open. */
export const changeActions: Readonly<Record<string, SystemAction>> = {
  'changes:list': { reads: true, run: listChanges },
  'changes:publish': { reads: false, run: publishEvent },
  'realtime:listen': { reads: true, run: listenToEvents },
};

/** A stream counts as an open connection until it releases its lease. */
function listenToEvents(request: RequestContext): Promise<ActionResult> {
  const retain = (): Lease => {
    const leave = request.limits.connections.acquireFor(buildConnectionOwner(request));
    const lease = request.retain();
    const release = (): void => {
      leave();
      lease.release();
    };
    return { ...lease, release };
  };
  return openEventStream({ ...request, retain });
}

/** The credential of the caller, or the network of a caller without one. */
function buildConnectionOwner({ application, caller, address }: RequestContext): string {
  return caller.credentialId === null
    ? `address ${toNetwork(address)}`
    : `${application.name} ${caller.type} ${caller.credentialId}`;
}

async function listChanges(request: RequestContext): Promise<ActionResult> {
  if (request.caller.type === 'anonymous' && request.parameters()['resource'] === undefined) throw tokenMissingError();
  const changesRequest = parseChangesRequest(readKnownParameters(request, ['since', 'resource', 'wait', 'pageSize']));
  const leave = changesRequest.wait > 0 ? request.limits.waiters.acquireFor(buildConnectionOwner(request)) : null;
  try {
    const { data, meta } = await readChangesPage(
      request.application,
      request.contextNow,
      changesRequest,
      request.abortSignal,
    );
    return { data, meta, counter: 0 };
  } finally {
    leave?.();
  }
}

async function publishEvent(request: RequestContext): Promise<ActionResult> {
  readKnownParameters(request, [], false);
  const { application, caller, requestId } = request;
  return { data: JSON.stringify(await publish(application.recordContext(caller, requestId), request.body)) };
}
