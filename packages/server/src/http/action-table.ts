/** Finds the action of a route, checks its method, and runs it. */
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
import { mediaTypeUnsupported } from './error-reply.ts';
import { fileActions, readFileBytes } from './file-actions.ts';
import { runIdempotentAcrossTransactions } from './idempotency.ts';
import { importActions } from './import-actions.ts';
import { indexActions } from './index-actions.ts';
import { journalAdminAction } from './journaling.ts';
import { keyActions } from './key-actions.ts';
import { mailActions } from './mail-actions.ts';
import { permissionActions } from './permission-actions.ts';
import { runRecordAction } from './record-actions.ts';
import { relationReads, relationWrites, runRelationAction } from './relation-actions.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { fileBytesAction, type Route, unknownRoute } from './route.ts';
import { settingsActions } from './settings-actions.ts';
import { multipartType } from './uploads.ts';
import { webhookActions } from './webhook-actions.ts';

/** System actions by `<resource>:<action>`. */
export type ActionTable = Readonly<Record<string, SystemAction>>;

/** All system actions. Record actions are generated for every collection. */
export const systemActions: ActionTable = {
  ...authActions,
  ...keyActions,
  ...permissionActions,
  ...definitionActions,
  ...indexActions,
  ...applicationActions,
  ...auditActions,
  ...docsActions,
  ...webhookActions,
  ...changeActions,
  ...batchActions,
  ...mailActions,
  ...fileActions,
  ...importActions,
  ...settingsActions,
};
/** System actions that take a form. */
const formActions: ReadonlySet<SystemAction | undefined> = new Set([
  fileActions['files:upload'],
  importActions['collections:importPreview'],
]);
/** Resources that have no generated actions. */
const actionOnly = new Set([
  'auth',
  'collections',
  'fields',
  'applications',
  'backups',
  'audit',
  'docs',
  'changes',
  'realtime',
  'serverActivity',
  'systemSettings',
]);

/** The system action of a route. Fields also have routes below their collection: `/api/collections/<name>/fields:<action>`. */
export function findSystemAction(actions: ActionTable, route: Route): SystemAction | undefined {
  const { resource, action, of } = route;
  if (route.plain && action === fileBytesAction) return readFileBytes;
  if (of !== null && !(of.collection === 'collections' && resource === 'fields')) return undefined;
  return actions[of ? `collections/fields:${action}` : `${resource}:${action}`];
}

/** Whether an action is a system action, or its resource has no record actions. */
export function hasSystemAction(resource: string, action: string): boolean {
  return actionOnly.has(resource) || systemActions[`${resource}:${action}`] !== undefined;
}

/** Whether a route names a collection or relation of the application, and an action of it. */
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
  if (route.plain) return reads; // the method has determined the action
  const known = action !== undefined || isKnownAction(route);
  if (method === 'POST' || !known || (reads && (method === 'GET' || method === 'HEAD'))) return reads;
  const allow = reads ? 'GET, HEAD, POST' : 'POST';
  throw new ApiError(
    'METHOD_NOT_ALLOWED',
    `This action does not support the method ${method}; use ${allow}. Nothing was changed.`,
    { allow },
  );
}

/** Runs an action. A caller without a credential gets 401 instead of 403. */
export async function runAction(action: SystemAction | undefined, request: RequestContext): Promise<ActionResult> {
  try {
    if (action && request.upload?.type === multipartType && !formActions.has(action)) throw mediaTypeUnsupported();
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

/** An action that stores its reply itself needs one transaction. For others, the key is claimed before and the reply stored after. */
function runSystem(action: SystemAction, request: RequestContext): Promise<ActionResult> {
  const runPlain = (each: RequestContext): Promise<ActionResult> =>
    action.journaled ? runJournaled(action, each) : action.run(each);
  return request.idempotencyKey && !action.reads && !action.storesReply
    ? runIdempotentAcrossTransactions(request, runPlain)
    : runPlain(request);
}

/** An action without an event is written to the audit journal before its reply is sent. */
async function runJournaled(action: SystemAction, request: RequestContext): Promise<ActionResult> {
  const result = await action.run(request);
  if (!('adminAction' in result) || result.adminAction !== null) await journalAdminAction(request, result);
  return result;
}
