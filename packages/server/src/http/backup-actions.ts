/** The `backups` actions, only for administrators of `main`. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import type { BackupEntry } from '../applications/backups/backup-entry.ts';
import type { RestoreRequest } from '../applications/backups/restore-application.ts';
import type { ServerBackups } from '../applications/backups/server-backups.ts';
import { isoTime } from '../base/clock.ts';
import type { BackupApplication, BackupEngine, BackupManifest } from '../database/backup-manifest.ts';
import { addressSeconds, signAddress } from '../files/signed-address.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import { isApplicationName } from '../records/system/application-rules.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { Action, ActionResult, RequestContext } from './request-context.ts';

type BackupAction = (request: RequestContext, loaded: ServerBackups) => Promise<ActionResult>;

export const backupActions = {
  list: forAdministrators(listBackups),
  get: forAdministrators(getBackup),
  create: forAdministrators(createBackup),
  download: forAdministrators(downloadBackup),
  sign: forAdministrators(signDownload),
  restore: forAdministrators(restoreBackup),
  destroy: forAdministrators(destroyBackup),
};

/** A backup contains all data with the hashes of passwords, so no permission of a role suffices. */
function forAdministrators(work: BackupAction): Action {
  return async (request) => {
    const { application, applications, caller, route } = request;
    if (caller.type === 'anonymous') throw tokenMissingError();
    if (application.name !== mainApplicationName)
      throw new ApiError(
        'SYSTEM_PROTECTED',
        `Backups are managed in "${mainApplicationName}". Omit the header "X-App".`,
      );
    if (caller.role !== adminRole) throw permissionDenied('backups', route.action);
    return work(request, await applications.backups());
  };
}

async function listBackups(
  request: RequestContext,
  { backups, schedule, settings }: ServerBackups,
): Promise<ActionResult> {
  readKnownParameters(request, [], false);
  const meta = {
    schedule: settings.schedule,
    nextAt: schedule.next,
    keep: settings.keep,
    isEncrypted: settings.recipients.length > 0,
    bucket: settings.s3?.bucket ?? null,
  };
  return { data: JSON.stringify(await backups.list()), meta };
}

async function getBackup(request: RequestContext, { backups }: ServerBackups): Promise<ActionResult> {
  return { data: JSON.stringify(await backups.get(readId(request))) };
}

async function createBackup(request: RequestContext, { backups }: ServerBackups): Promise<ActionResult> {
  readKnownParameters(request, [], false);
  const { application = null } = readBody(request, ['application']);
  if (application === mainApplicationName)
    throw invalidBody(
      'application',
      'must not be "main", which contains the list of all applications; omit it to save all',
    );
  const reason = 'request';
  const entry = (await backups.create({ application, reason, slot: null })) as BackupEntry;
  return { data: JSON.stringify(entry), isAccepted: true, adminAction: { target: entry.id } };
}

async function downloadBackup(request: RequestContext, { backups }: ServerBackups): Promise<ActionResult> {
  const found = await backups.find(readId(request, ['signature']));
  const file = await backups.storage.open(found);
  const lease = request.retain();
  return {
    file,
    filename: `${found.id}.tar`,
    inlineType: null,
    downloadType: 'application/x-tar',
    hash: found.id,
    done: () => lease.release(),
  };
}

/** A URL of the tar file that works without an Authorization header, for downloads by a browser. */
async function signDownload(request: RequestContext, { backups }: ServerBackups): Promise<ActionResult> {
  const { id } = await backups.find(readId(request));
  const { application, caller } = request;
  const expiresAt = application.clock.now() + 1000 * addressSeconds.default;
  const parts = { application: application.name, file: `backup:${id}`, expiresAt };
  const signature = signAddress(caller, parts, (text) => application.hashTokenWithAllKeys(text));
  const url = `/api/backups:download?filterByTk=${encodeURIComponent(id)}&signature=${signature}`;
  return { data: JSON.stringify({ url, expiresAt: isoTime(expiresAt) }), adminAction: { target: id } };
}

async function destroyBackup(request: RequestContext, { backups }: ServerBackups): Promise<ActionResult> {
  const id = readId(request);
  await backups.destroy(id);
  return { data: '1', adminAction: { target: id } };
}

async function restoreBackup(request: RequestContext, { backups }: ServerBackups): Promise<ActionResult> {
  const id = readId(request);
  const body = readBody(request, ['application', 'as', 'confirm', 'identity']);
  const { manifest } = await backups.find(id);
  const { caller, requestId, applications } = request;
  const application = chooseApplication(manifest, body.application);
  const isCopy = body.as !== undefined && body.as !== application.name;
  if (isCopy && application.name === mainApplicationName)
    throw invalidBody('as', 'must be omitted for "main", which cannot be restored as a copy');
  const name = isCopy ? readNewName(body.as) : application.name;
  requireUsable(manifest, body.identity, backups.engine);
  const restore: RestoreRequest = {
    id,
    application,
    name,
    isCopy,
    identities: body.identity === undefined ? [] : await readIdentity(body.identity),
    requester: { caller, requestId },
  };
  const existing = await applications.isListed(name);
  if (isCopy && existing)
    throw new ApiError('APPLICATION_EXISTS', `An application "${name}" exists already. Choose another name for "as".`);
  if (!isCopy && existing && body.confirm !== name)
    throw invalidBody('confirm', `must be "${name}", the name of the application whose data is replaced`);
  const entry = await backups.restore(restore);
  return { data: JSON.stringify(entry), isAccepted: true, adminAction: { target: name } };
}

function chooseApplication({ applications, scope }: BackupManifest, name: string | undefined): BackupApplication {
  const wanted = name ?? (scope === 'application' ? applications[0]?.name : undefined);
  const found = applications.find((each) => each.name === wanted);
  if (found) return found;
  const list = applications.map((each) => each.name).join(', ');
  throw invalidBody('application', `must be an application of the backup: ${list}`);
}

function requireUsable(manifest: BackupManifest, identity: string | undefined, engine: BackupEngine): void {
  if (manifest.engine !== engine)
    throw new ApiError(
      'BACKUP_UNUSABLE',
      `The backup was made on ${manifest.engine}, and this server uses another engine. Restore it on a server with ${manifest.engine}.`,
    );
  if (manifest.bucket !== null)
    throw new ApiError(
      'BACKUP_UNUSABLE',
      `The bytes of files and e-mails are in the bucket "${manifest.bucket}" and not in the backup. Stop the servers, restore the bucket, and run "tablinum restore". Backups made with BACKUP_FILES=on contain these bytes.`,
    );
  if (manifest.encryption && identity === undefined)
    throw new ApiError(
      'BACKUP_UNUSABLE',
      'The backup is encrypted. Send the secret key of one of its recipients (AGE-SECRET-KEY-1…) as "identity".',
    );
}

async function readIdentity(text: string): Promise<string[]> {
  const { readIdentities } = await import('../database/backup-encryption.ts');
  try {
    return readIdentities(text);
  } catch (error) {
    throw invalidBody('identity', `is not usable: ${(error as Error).message}`);
  }
}

function readNewName(name: string | undefined): string {
  if (name !== mainApplicationName && isApplicationName(name)) return name;
  throw invalidBody(
    'as',
    'must be a name other than "main": a letter, then letters, digits, _ and -, at most 60 characters',
  );
}

/** Reads the body, whose members are texts with the given names. */
function readBody<Name extends string>(
  { body }: RequestContext,
  names: readonly Name[],
): Partial<Readonly<Record<Name, string>>> {
  if (body === undefined) return {};
  const list = names.map((name) => `"${name}"`).join(', ');
  if (!isObject(body)) throw new ApiError('BODY_INVALID', `The body must be an object. It can have ${list}.`);
  for (const [name, value] of Object.entries(body)) {
    if (!names.some((each) => each === name))
      throw new ApiError('BODY_INVALID', `The body has an unknown member "${name.slice(0, 60)}". It can have ${list}.`);
    if (typeof value !== 'string') throw invalidBody(name, 'must be text');
  }
  return body as Partial<Readonly<Record<Name, string>>>;
}

const invalidBody = (name: string, problem: string): ApiError => new ApiError('BODY_INVALID', `"${name}" ${problem}.`);

function readId(request: RequestContext, otherParameters: readonly string[] = []): string {
  const { filterByTk } = readKnownParameters(request, ['filterByTk', ...otherParameters], false);
  if (typeof filterByTk === 'string' && filterByTk !== '') return filterByTk;
  throw new ApiError(
    'PARAMETER_INVALID',
    'The parameter "filterByTk" must be the id of one backup. backups:list shows the ids.',
  );
}
