/** `systemSettings:get` and `systemSettings:update`: settings that take effect while the server runs. The environment has priority. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import { reportSettings, type SettingReport } from '../base/setting-reports.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

/** Characters of a value. */
const maxLength = 4000;

export async function getSettings(request: RequestContext): Promise<ActionResult> {
  requireMainAdministrator(request, 'get');
  readKnownParameters(request, [], false);
  await request.settings.load();
  return showSettings(request);
}

/** The body contains texts or numbers by names of settings; null removes the stored value. All are stored, or none. */
export async function updateSettings(request: RequestContext): Promise<ActionResult> {
  requireMainAdministrator(request, 'update');
  readKnownParameters(request, [], false);
  const { settings, caller, requestId } = request;
  const changes = parseChanges(request.body, listReports(request));
  if (changes.size > 0) await settings.change(changes, { caller, requestId });
  return showSettings(request);
}

function listReports({ settings }: RequestContext): SettingReport[] {
  const { environment, stored } = settings.runtime;
  return reportSettings(environment, null, stored);
}

function showSettings(request: RequestContext): ActionResult {
  return { data: JSON.stringify(listReports(request)) };
}

function requireMainAdministrator({ application, caller }: RequestContext, action: string): void {
  if (caller.type === 'anonymous') throw tokenMissingError();
  if (caller.role !== adminRole) throw permissionDenied('systemSettings', action);
  if (application.name !== mainApplicationName)
    throw new ApiError(
      'SYSTEM_PROTECTED',
      `Settings are managed in "${mainApplicationName}". Omit the header "X-App".`,
    );
}

/** @throws ApiError 422 with the problem of each setting that cannot be changed. */
function parseChanges(body: unknown, reports: readonly SettingReport[]): Map<string, string | null> {
  if (!isObject(body))
    throw new ApiError(
      'BODY_INVALID',
      'The body must be an object with values by names of settings, such as {"EVENTS_DAYS": 60}.',
    );
  const changes = new Map<string, string | null>();
  const details: Record<string, string> = {};
  for (const [name, input] of Object.entries(body)) {
    const report = reports.find((each) => each.name === name);
    const problem = findChangeProblem(report, input);
    if (problem === null) changes.set(name, toText(input));
    else details[name.slice(0, 60)] = problem;
  }
  if (Object.keys(details).length > 0)
    throw new ApiError(
      'VALUE_INVALID',
      'Some settings cannot be changed, so nothing was changed. "details" names the problem of each.',
      { details },
    );
  return changes;
}

function findChangeProblem(report: SettingReport | undefined, input: unknown): string | null {
  if (!report) return 'There is no setting with this name. systemSettings:get lists all settings.';
  if (report.group === null) return 'It can only be set in the environment. Set it there, and restart the server.';
  if (!report.changeable)
    return 'The environment sets it and has priority. Remove it from the environment, and restart the server, to change it here.';
  if (input !== null && typeof input !== 'string' && typeof input !== 'number') return 'Give text, a number or null.';
  if (typeof input === 'string' && input.length > maxLength) return `Give at most ${maxLength} characters.`;
  if (typeof input === 'string' && /\p{Cc}/u.test(input)) return 'Remove control characters and line breaks.';
  return null;
}

/** Null for an empty text, as in the environment. */
function toText(input: unknown): string | null {
  return input === null ? null : String(input).trim() || null;
}
