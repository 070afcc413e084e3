/** What the door tells the audit journal and the key statistics of each request. */
import { isIP } from 'node:net';
import type { Application } from '../applications/application.ts';
import { isoTime } from '../base/clock.ts';
import { toAuditActor } from '../changes/admin-actions.ts';
import { anonymous } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { ErrorLabel } from '../protocol/error-catalogue.ts';
import { toNetwork } from './network.ts';
import type { ActionResult, AdminActionDetail, RequestContext } from './request-context.ts';
import type { Route } from './route.ts';

/** A request as the journal sees it. */
export interface JournaledRequest {
  /** Null until somebody is known to ask. */
  readonly caller: Caller | null;
  readonly route: Route;
  readonly address: string;
  readonly requestId: string;
  /** Whether resource and action are names that the application has: others are never kept. */
  readonly known: (application: Application) => boolean;
}

/** Refusals for who asked, and not for what was asked: 401, 403 and 429. */
const refusalLabels: ReadonlySet<ErrorLabel> = new Set<ErrorLabel>([
  'Unauthorized',
  'Forbidden',
  'No permissions',
  'Too Many Requests',
]);

/** `<resource>:<action>`, or `<collection>/<relation>:<action>`. */
export function formatEndpoint({ resource, action, of }: Route): string {
  if (action === '') return resource;
  return of === null ? `${resource}:${action}` : `${of.collection}/${resource}:${action}`;
}

/** An address that is one: behind a proxy that passes on whatever it gets, it may be any text. */
export function toIpAddress(text: string): string | null {
  return isIP(text) === 0 ? null : text;
}

/** Every answered request by a key is counted. */
export function journalSuccess({ journal, clock }: Application, { caller, route }: JournaledRequest): void {
  if (caller?.type === 'apiKey') journal.keyUse.countSuccess(caller.credentialId!, formatEndpoint(route), clock.now());
}

/** Refusals enter the audit journal; every failed request by a key is counted. */
export function journalFailure(application: Application, request: JournaledRequest, error: unknown): void {
  const { journal, clock } = application;
  const isRefusal = error instanceof ApiError && refusalLabels.has(error.label);
  const key = request.caller?.type === 'apiKey' ? request.caller.credentialId : null;
  if (key !== null) journal.keyUse.countFailure(key, isRefusal, clock.now());
  if (!isRefusal) return;
  const known = /^apiKey:(\d+)$/.exec(error.about ?? '');
  if (known) journal.keyUse.countFailure(Number(known[1]), true, null);
  const { credential, ...auditActor } = toAuditActor(request.caller ?? anonymous, request.requestId);
  journal.recordRefusal({
    ...auditActor,
    credential: credential && JSON.stringify(credential),
    at: isoTime(clock.now()),
    action: request.known(application) ? formatEndpoint(request.route) : null,
    target: error.about ?? null,
    code: error.code,
    address: toIpAddress(request.address),
    network: toNetwork(request.address),
  });
}

/** Tells of an act that leaves no event: written, and on the disk, before the reply leaves. */
export async function journalAdminAction(
  { application, caller, route, requestId }: RequestContext,
  result: ActionResult,
): Promise<void> {
  const auditActor = toAuditActor(caller, requestId);
  const { userId, target }: AdminActionDetail = 'data' in result ? (result.adminAction ?? {}) : {};
  const user = userId === undefined ? null : `user:${userId}`;
  await application.journal.appendAdminAction({
    ...auditActor,
    actor: auditActor.actor ?? user,
    role: user === null ? auditActor.role : null,
    at: isoTime(application.clock.now()),
    action: formatEndpoint(route),
    resource: route.resource,
    targets: target === undefined ? [] : [target],
    destroyed: false,
  });
}

/** Tells an application that an admin of another one came in: ids of callers are those of where they come from. */
export async function journalApplicationEntry(
  entered: Application,
  { application, caller, requestId }: RequestContext,
): Promise<void> {
  const { actor, address } = toAuditActor(caller, requestId);
  await entered.journal.appendAdminAction({
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
