import { adminRole } from '../access/access-table.ts';
import { mainName } from '../applications/application.ts';
import { enter } from '../applications/enter.ts';
import { tokenMissing } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { denied } from '../query/read-access.ts';
import type { Action, Answer, Call, SystemAction } from './call.ts';
import { noteEntrance } from './journaling.ts';
import { knownParameters } from './known-parameters.ts';
import { runRecordAction } from './record-actions.ts';
import { readRecordRequest } from './request-reader.ts';

/** `applications:`, in `main` alone. What is plain data of the list has the generated actions. */
export const applicationActions: Readonly<Record<string, SystemAction>> = {
  'applications:list': { reads: true, run: inMain(runRecordAction) },
  'applications:get': { reads: true, run: inMain(runRecordAction) },
  'applications:create': { reads: false, run: inMain(createApplication) },
  'applications:update': { reads: false, run: inMain(updateApplication) },
  'applications:start': { reads: false, run: inMain(startApplication) },
  'applications:stop': { reads: false, run: inMain(stopApplication) },
  'applications:destroy': { reads: false, run: inMain(destroyApplication) },
  'applications:enter': { reads: false, journaled: true, run: inMain(enterApplication) },
};

function inMain(work: Action): Action {
  return async (call) => {
    if (call.application.name === mainName) return work(call);
    if (call.caller.type === 'anonymous') throw tokenMissing();
    throw new ApiError('SYSTEM_PROTECTED', `Applications are managed in "${mainName}"; leave X-App out.`);
  };
}

async function createApplication(call: Call): Promise<Answer> {
  requireGranted(call, 'create');
  knownParameters(call, [], false);
  if (!isObject(call.body))
    throw new ApiError('BODY_INVALID', 'Give one application: {"name", "displayName", "description", "options"}.');
  const name = call.body['name'];
  await runRecordAction(call).catch(nameTaken);
  await call.applications.start(name as string, call);
  return shown(call, name as string);
}

function nameTaken(error: unknown): never {
  if (error instanceof ApiError && error.code === 'UNIQUE_CONFLICT')
    throw new ApiError('APPLICATION_EXISTS', 'An application of that name exists already.');
  throw error;
}

async function updateApplication(call: Call): Promise<Answer> {
  requireGranted(call, 'update');
  const name = named(call, []);
  await runRecordAction(call);
  return shown(call, name);
}

async function startApplication(call: Call): Promise<Answer> {
  const name = existing(call, 'update');
  await call.applications.start(name, call);
  return shown(call, name);
}

async function stopApplication(call: Call): Promise<Answer> {
  const name = existing(call, 'update');
  await call.applications.stop(name, call);
  return shown(call, name);
}

async function destroyApplication(call: Call): Promise<Answer> {
  requireGranted(call, 'destroy');
  const name = named(call, ['confirm']);
  if (name !== mainName) await shown(call, name); // 404 before the question whether it is meant
  if (name !== mainName && call.parameters()['confirm'] !== name)
    throw new ApiError('PARAMETER_INVALID', 'Send confirm=<name> with the name of the application to be destroyed.');
  await call.applications.destroy(name, call);
  return { data: '1' };
}

async function enterApplication(call: Call): Promise<Answer> {
  const name = existing(call, 'update');
  if (call.caller.role !== adminRole) throw denied('applications', 'enter');
  const lease = await call.applications.find(name);
  try {
    if (lease.error) throw lease.error;
    const userId = (call.caller.user?.['id'] as number | undefined) ?? null;
    const entered = await enter(call.applications.main, lease.application, userId);
    await call.applications.noteToken(entered.token, name);
    await noteEntrance(lease.application, call);
    return { data: JSON.stringify(entered), act: { target: name } };
  } finally {
    lease.release();
  }
}

function existing(call: Call, action: string): string {
  requireGranted(call, action);
  return named(call, []);
}

function requireGranted({ application, caller, requestId }: Call, action: string): void {
  const grant = application.recordContext(caller, requestId).grantOf('applications', action);
  if (!grant) throw denied('applications', action);
}

function named(call: Call, others: readonly string[]): string {
  const { filterByTk } = knownParameters(call, ['filterByTk', ...others], false);
  if (typeof filterByTk !== 'string' || filterByTk === '')
    throw new ApiError('PARAMETER_INVALID', 'filterByTk must name one application.');
  return filterByTk;
}

/** The application's record as the caller's get shows it; without one, its name. */
async function shown(call: Call, name: string): Promise<Answer> {
  const { application, caller, requestId } = call;
  if (!application.recordContext(caller, requestId).grantOf('applications', 'get'))
    return { data: JSON.stringify({ name }) };
  const route = { resource: 'applications', action: 'get', tk: name, of: null };
  const request = readRecordRequest(route, '', undefined, false);
  return runRecordAction({ ...call, route, request: () => request, ifMatch: undefined });
}
