/** Reports each request to the audit journal and to the usage statistics of keys. */
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

/** The properties of a request that the journal needs. */
export interface JournaledRequest {
  /** Null until the credential is verified. */
  readonly caller: Caller | null;
  readonly route: Route;
  readonly address: string;
  readonly requestId: string;
  /** Whether the application has the resource and action. Other names are never stored. */
  readonly known: (application: Application) => boolean;
}

/** Refusals because of the caller, not of the request: 401, 403 and 429. */
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

/** A valid IP address, or null: behind some proxies the address may be any text. */
export function toIpAddress(text: string): string | null {
  return isIP(text) === 0 ? null : text;
}

/** Whether a request is refused because of its caller. */
export function isRefusalOfCaller(error: unknown): error is ApiError {
  return error instanceof ApiError && refusalLabels.has(error.label);
}

/** Counts a successful request of a key. */
export function journalSuccess({ journal, clock }: Application, { caller, route }: JournaledRequest): void {
  if (caller?.type === 'apiKey') journal.keyUse.countSuccess(caller.credentialId!, formatEndpoint(route), clock.now());
}

/** Adds a refusal to the audit journal, and counts a failed request of a key. */
export function journalFailure(application: Application, request: JournaledRequest, error: unknown): void {
  const { journal, clock } = application;
  const isRefusal = isRefusalOfCaller(error);
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

/** Stores an administrative action without an event durably, before its reply is sent. */
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

/** Stores in an application that an admin of another one entered it. The ids belong to the other application. */
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
