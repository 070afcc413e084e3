import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import type { backupActions } from './backup-actions.ts';
import { journalApplicationEntry } from './journaling.ts';
import { readKnownParameters } from './known-parameters.ts';
import { runRecordAction } from './record-actions.ts';
import type { Action, ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { readRecordRequest } from './request-reader.ts';

/** The actions about the whole server, only in `main`: applications, whose reads are record actions, its activity, and backups. */
export const applicationActions: Readonly<Record<string, SystemAction>> = {
  'applications:list': { reads: true, run: inMainApplication(readApplications) },
  'applications:get': { reads: true, run: inMainApplication(readApplications) },
  'applications:create': { reads: false, run: inMainApplication(createApplication) },
  'applications:update': { reads: false, run: inMainApplication(updateApplication) },
  'applications:start': { reads: false, run: inMainApplication(startApplication) },
  'applications:stop': { reads: false, run: inMainApplication(stopApplication) },
  'applications:destroy': { reads: false, run: inMainApplication(destroyApplication) },
  'applications:nodes': {
    reads: true,
    run: inMainApplication(async (request) => (await import('./node-actions.ts')).listNodes(request)),
  },
  'applications:move': { reads: false, journaled: true, run: inMainApplication(moveApplication) },
  'serverActivity:get': { reads: true, run: inMainApplication(readActivity) },
  'applications:enter': { reads: false, journaled: true, run: inMainApplication(enterApplication) },
  'applications:receive': {
    reads: false,
    journaled: true,
    run: inMainApplication(async (request) => (await import('./move-actions.ts')).receiveStep(request)),
  },
  'backups:list': { reads: true, run: backupAction('list') },
  'backups:get': { reads: true, run: backupAction('get') },
  'backups:create': { reads: false, journaled: true, run: backupAction('create') },
  'backups:download': { reads: true, journaled: true, run: backupAction('download') },
  'backups:sign': { journaled: true, reads: false, run: backupAction('sign') },
  'backups:restore': { reads: false, journaled: true, run: backupAction('restore') },
  'backups:destroy': { reads: false, journaled: true, run: backupAction('destroy') },
};

/** Backups are loaded with the first request for them. */
function backupAction(name: keyof typeof backupActions): Action {
  return async (request) => (await import('./backup-actions.ts')).backupActions[name](request);
}

function inMainApplication(work: Action): Action {
  return async (request) => {
    if (request.application.name === mainApplicationName) return work(request);
    if (request.caller.type === 'anonymous') throw tokenMissingError();
    throw new ApiError(
      'SYSTEM_PROTECTED',
      `Applications are managed in "${mainApplicationName}". Omit the header "X-App".`,
    );
  };
}

/** On a cluster, administrators also see the nodes. */
async function readApplications(request: RequestContext): Promise<ActionResult> {
  const result = await runRecordAction(request);
  return request.applications.isShared ? (await import('./node-actions.ts')).addPlacements(request, result) : result;
}

async function moveApplication(request: RequestContext): Promise<ActionResult> {
  const name = readGrantedName(request, 'update');
  await (await import('./node-actions.ts')).beginNodeMove(request, name);
  return { ...(await showApplication(request, name)), isAccepted: true, adminAction: { target: name } };
}

async function createApplication(request: RequestContext): Promise<ActionResult> {
  requireGranted(request, 'create');
  readKnownParameters(request, [], false);
  if (!isObject(request.body))
    throw new ApiError(
      'BODY_INVALID',
      'The body must be one application: {"name", "displayName", "description", "options"}, and on a Citus cluster "node".',
    );
  const name = request.body['name'];
  const nodes = 'node' in request.body ? await import('./node-actions.ts') : null;
  const placed = nodes && (await nodes.takeNode(request, request.body));
  await runRecordAction(placed ? { ...request, body: placed.body } : request).catch(throwNameTaken);
  if (nodes && placed?.node) await nodes.placeApplication(request, name as string, placed.node);
  await request.applications.start(name as string, request);
  return showApplication(request, name as string);
}

function throwNameTaken(error: unknown): never {
  if (error instanceof ApiError && error.code === 'UNIQUE_CONFLICT')
    throw new ApiError('APPLICATION_EXISTS', 'An application with this "name" exists already. Choose another name.');
  throw error;
}

async function updateApplication(request: RequestContext): Promise<ActionResult> {
  requireGranted(request, 'update');
  const name = readApplicationName(request, []);
  await runRecordAction(request);
  return showApplication(request, name);
}

async function startApplication(request: RequestContext): Promise<ActionResult> {
  const name = readGrantedName(request, 'update');
  await request.applications.start(name, request);
  return showApplication(request, name);
}

async function stopApplication(request: RequestContext): Promise<ActionResult> {
  const name = readGrantedName(request, 'update');
  await request.applications.stop(name, request);
  return showApplication(request, name);
}

async function destroyApplication(request: RequestContext): Promise<ActionResult> {
  requireGranted(request, 'destroy');
  const name = readApplicationName(request, ['confirm']);
  if (name !== mainApplicationName) await showApplication(request, name); // an unknown application is 404 even without "confirm"
  if (name !== mainApplicationName && request.parameters()['confirm'] !== name)
    throw new ApiError('PARAMETER_INVALID', 'The parameter "confirm" must be the name of the application to destroy.');
  await request.applications.destroy(name, request);
  return { data: '1' };
}

async function enterApplication(request: RequestContext): Promise<ActionResult> {
  const name = readGrantedName(request, 'update');
  if (request.caller.role !== adminRole) throw permissionDenied('applications', 'enter');
  const lease = await request.applications.find(name);
  try {
    if (lease.error) throw lease.error;
    const { createApplicationLogin } = await import('../applications/application-login.ts');
    const userId = (request.caller.user?.['id'] as number | undefined) ?? null;
    const entered = await createApplicationLogin(request.applications.main, lease.application, userId);
    await request.applications.recordTokenHome(entered.token, name);
    await journalApplicationEntry(lease.application, request);
    return { data: JSON.stringify(entered), adminAction: { target: name } };
  } finally {
    lease.release();
  }
}

/** What this server did in the last hour. It concerns all applications, so only admins may read it. */
async function readActivity(request: RequestContext): Promise<ActionResult> {
  if (request.caller.role !== adminRole) throw permissionDenied('serverActivity', 'get');
  readKnownParameters(request, [], false);
  return { data: JSON.stringify(await (await request.activity()).describe()) };
}

function readGrantedName(request: RequestContext, action: string): string {
  requireGranted(request, action);
  return readApplicationName(request, []);
}

function requireGranted({ application, caller, requestId }: RequestContext, action: string): void {
  const grant = application.recordContext(caller, requestId).findGrant('applications', action);
  if (!grant) throw permissionDenied('applications', action);
}

function readApplicationName(request: RequestContext, otherParameters: readonly string[]): string {
  const { filterByTk } = readKnownParameters(request, ['filterByTk', ...otherParameters], false);
  if (typeof filterByTk !== 'string' || filterByTk === '')
    throw new ApiError('PARAMETER_INVALID', 'The parameter "filterByTk" must be the name of one application.');
  return filterByTk;
}

/** The application's record with the caller's permissions; only its name if the caller may not read it. */
async function showApplication(request: RequestContext, name: string): Promise<ActionResult> {
  const { application, caller, requestId } = request;
  if (!application.recordContext(caller, requestId).findGrant('applications', 'get'))
    return { data: JSON.stringify({ name }) };
  const route = { resource: 'applications', action: 'get', key: name, of: null };
  const recordRequest = readRecordRequest(route, '', undefined, false);
  return readApplications({ ...request, route, recordRequest: () => recordRequest, ifMatch: undefined });
}
