/** Which action a path names, by what methods it is called, and how it is run. */
import type { Application } from '../applications/application.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import { isReadAction, isRecordAction } from '../protocol/actions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { applicationActions } from './application-actions.ts';
import { auditActions } from './audit-actions.ts';
import { authActions } from './auth-actions.ts';
import { batchActions } from './batch-actions.ts';
import { changeActions } from './change-actions.ts';
import { definitionActions } from './definition-actions.ts';
import { docsActions } from './docs-actions.ts';
import { runIdempotentAcrossTransactions } from './idempotency.ts';
import { journalAdminAction } from './journaling.ts';
import { keyActions } from './key-actions.ts';
import { mailActions } from './mail-actions.ts';
import { permissionActions } from './permission-actions.ts';
import { runRecordAction } from './record-actions.ts';
import { relationReads, relationWrites, runRelationAction } from './relation-actions.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { type Route, unknownRoute } from './route.ts';
import { webhookActions } from './webhook-actions.ts';

/** Actions written by hand, by `<resource>:<action>`. */
export type ActionTable = Readonly<Record<string, SystemAction>>;

export const systemActions: ActionTable = {
  ...authActions,
  ...keyActions,
  ...permissionActions,
  ...definitionActions,
  ...applicationActions,
  ...auditActions,
  ...docsActions,
  ...webhookActions,
  ...changeActions,
  ...batchActions,
  ...mailActions,
};
/** Resources that have no generated actions. */
const actionOnly = new Set(['auth', 'collections', 'fields', 'applications', 'audit', 'docs', 'changes', 'realtime']);

/** The action written by hand that a path names. Fields have a path below their collection too, `/api/collections/<name>/fields:<action>`. */
export function findSystemAction(actions: ActionTable, { resource, action, of }: Route): SystemAction | undefined {
  if (of !== null && !(of.collection === 'collections' && resource === 'fields')) return undefined;
  return actions[of ? `collections/fields:${action}` : `${resource}:${action}`];
}

/** Whether an action of a resource is written by hand, or the resource has no generated actions. */
export function hasSystemAction(resource: string, action: string): boolean {
  return actionOnly.has(resource) || systemActions[`${resource}:${action}`] !== undefined;
}

/** Whether a path names what the application has; other names are the caller's own invention. */
export function isKnownRoute({ registry }: Application, route: Route): boolean {
  if (!isKnownAction(route)) return false;
  const collection = registry.find(route.of?.collection ?? route.resource);
  return collection !== null && (route.of === null || collection.byName.get(route.resource)?.relation != null);
}

function isKnownAction({ action, of }: Route): boolean {
  return of === null ? isRecordAction(action) : relationReads.has(action) || relationWrites.has(action);
}

/** Whether the request reads. @throws ApiError `METHOD_NOT_ALLOWED` naming the methods of a known action. */
export function isReadRequest(method: string, action: SystemAction | undefined, route: Route): boolean {
  const reads = action ? action.reads : isReadAction(route.action);
  if (route.plain) return reads; // its method has said what is done
  const known = action !== undefined || isKnownAction(route);
  if (method === 'POST' || !known || (reads && (method === 'GET' || method === 'HEAD'))) return reads;
  const allow = reads ? 'GET, HEAD, POST' : 'POST';
  throw new ApiError('METHOD_NOT_ALLOWED', `This action answers ${allow}; nothing was changed.`, { allow });
}

/** Runs an action; what a caller without a credential may not do is 401, not 403. */
export async function runAction(action: SystemAction | undefined, request: RequestContext): Promise<ActionResult> {
  try {
    if (action) return await runSystem(action, request);
    if (request.route.of) return await runRelationAction(request);
    if (actionOnly.has(request.route.resource)) throw unknownRoute();
    return await runRecordAction(request);
  } catch (error) {
    const refusal = error instanceof ApiError && (error.code === 'NO_PERMISSION' || error.code === 'FIELD_DENIED');
    if (refusal && request.caller.type === 'anonymous') throw tokenMissingError();
    throw error;
  }
}

/** A write that keeps its reply itself stands in one transaction; the others are claimed before and kept after. */
function runSystem(action: SystemAction, request: RequestContext): Promise<ActionResult> {
  const runPlain = (each: RequestContext): Promise<ActionResult> =>
    action.journaled ? runJournaled(action, each) : action.run(each);
  return request.idempotencyKey && !action.reads && !action.storesReply
    ? runIdempotentAcrossTransactions(request, runPlain)
    : runPlain(request);
}

/** An act that leaves no event is told of before its reply leaves. */
async function runJournaled(action: SystemAction, request: RequestContext): Promise<ActionResult> {
  const result = await action.run(request);
  if (!('adminAction' in result) || result.adminAction !== null) await journalAdminAction(request, result);
  return result;
}
