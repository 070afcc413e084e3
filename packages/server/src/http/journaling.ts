/** What the door tells the audit journal and the key statistics of each request. */
import { isIP } from 'node:net';
import type { Application } from '../applications/application.ts';
import { isoTime } from '../base/clock.ts';
import { doerOf } from '../changes/acts.ts';
import { anonymous } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { ErrorLabel } from '../protocol/error-catalogue.ts';
import type { ActDetail, Answer, Call } from './call.ts';
import { networkOf } from './network.ts';
import type { Route } from './route.ts';

/** A request as the journal sees it. */
export interface Seen {
  /** Null until somebody is known to ask. */
  readonly caller: Caller | null;
  readonly route: Route;
  readonly address: string;
  readonly requestId: string;
  /** Whether resource and action are names that the application has: others are never kept. */
  readonly known: (application: Application) => boolean;
}

/** Refusals for who asked, and not for what was asked: 401, 403 and 429. */
const refused: ReadonlySet<ErrorLabel> = new Set<ErrorLabel>([
  'Unauthorized',
  'Forbidden',
  'No permissions',
  'Too Many Requests',
]);

/** `<resource>:<action>`, or `<collection>/<relation>:<action>`. */
export function endpointOf({ resource, action, of }: Route): string {
  if (action === '') return resource;
  return of === null ? `${resource}:${action}` : `${of.collection}/${resource}:${action}`;
}

/** An address that is one: behind a proxy that passes on whatever it gets, it may be any text. */
export function addressOf(text: string): string | null {
  return isIP(text) === 0 ? null : text;
}

/** Every answered request by a key is counted. */
export function noteAnswer({ journal, clock }: Application, { caller, route }: Seen): void {
  if (caller?.type === 'apiKey') journal.keyUse.answered(caller.credentialId!, endpointOf(route), clock.now());
}

/** Refusals enter the audit journal; every failed request by a key is counted. */
export function noteFailure(application: Application, seen: Seen, error: unknown): void {
  const { journal, clock } = application;
  const isRefusal = error instanceof ApiError && refused.has(error.label);
  const key = seen.caller?.type === 'apiKey' ? seen.caller.credentialId : null;
  if (key !== null) journal.keyUse.failed(key, isRefusal, clock.now());
  if (!isRefusal) return;
  const known = /^apiKey:(\d+)$/.exec(error.about ?? '');
  if (known) journal.keyUse.failed(Number(known[1]), true, null);
  const { credential, ...doer } = doerOf(seen.caller ?? anonymous, seen.requestId);
  journal.refused({
    ...doer,
    credential: credential && JSON.stringify(credential),
    at: isoTime(clock.now()),
    action: seen.known(application) ? endpointOf(seen.route) : null,
    target: error.about ?? null,
    code: error.code,
    address: addressOf(seen.address),
    network: networkOf(seen.address),
  });
}

/** Tells of an act that leaves no event: written, and on the disk, before the reply leaves. */
export async function noteSilentAct({ application, caller, route, requestId }: Call, answer: Answer): Promise<void> {
  const doer = doerOf(caller, requestId);
  const { userId, target }: ActDetail = 'data' in answer ? (answer.act ?? {}) : {};
  const user = userId === undefined ? null : `user:${userId}`;
  await application.journal.note({
    ...doer,
    actor: doer.actor ?? user,
    role: user === null ? doer.role : null,
    at: isoTime(application.clock.now()),
    action: endpointOf(route),
    resource: route.resource,
    targets: target === undefined ? [] : [target],
    destroyed: false,
  });
}

/** Tells an application that an admin of another one came in: ids of callers are those of where they come from. */
export async function noteEntrance(entered: Application, { application, caller, requestId }: Call): Promise<void> {
  const { actor, address } = doerOf(caller, requestId);
  await entered.journal.note({
    actor: `${application.name}/${actor}`,
    credential: null,
    role: null,
    address,
    requestId,
    at: isoTime(entered.clock.now()),
    action: 'applications:enter',
    resource: 'applications',
    targets: [entered.name],
    destroyed: false,
  });
}
