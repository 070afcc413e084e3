import { changeField } from '../collections/change-field.ts';
import { ApiError } from '../protocol/api-error.ts';
import { permissionDenied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { ImportCaller, RunImportParts } from '../transfer/import/run-import.ts';
import type { Application } from './application.ts';

/**
 * Runs parts of an import as the caller who started it, with the permissions that the caller has now.
 *
 * @param getUserContext of a user in a role; null if the user is not active, or does not have the role.
 */
export function createImportCallers(
  application: Application,
  getUserContext: (user: number, role: string) => Promise<RecordContext | null>,
): Pick<RunImportParts, 'withCaller' | 'addOptions'> {
  const getContext = async ({ caller, zone, requestId }: ImportCaller): Promise<RecordContext> => {
    if (caller.type === 'apiKey') {
      const key = await application.authenticator.resume('apiKey', caller.id).catch(explainInvalidKey);
      return application.recordContext(key, requestId, zone);
    }
    const context = await getUserContext(caller.id, caller.role);
    if (context) return { ...context, zone, requestId };
    throw new ApiError(
      'NO_PERMISSION',
      `The user who started the import is not active any more, or does not have the role "${caller.role}" any more.`,
    );
  };
  const withCaller: RunImportParts['withCaller'] = async (caller, work) => {
    await application.ensureCurrent();
    return application.withCurrentSnapshot(async () => work(await getContext(caller)));
  };
  return {
    withCaller,
    addOptions: (caller) => (collection, field, options) =>
      withCaller(caller, (context) => setSelectOptions(application, context, { collection, field, options })),
  };
}

function explainInvalidKey(error: unknown): never {
  if (!(error instanceof ApiError) || error.label !== 'Unauthorized') throw error;
  throw new ApiError('NO_PERMISSION', 'The API key that started the import is not valid any more.');
}

/** The options of a select field after a change. */
export interface SelectOptions {
  readonly collection: string;
  readonly field: string;
  readonly options: readonly string[];
}

/** Sets the options of a select field, as `fields:update` does. @throws ApiError 403 without the permission to change fields. */
export async function setSelectOptions(
  application: Application,
  { caller, requestId, findGrant }: RecordContext,
  { collection, field, options }: SelectOptions,
): Promise<void> {
  if (!findGrant('fields', 'update')) throw permissionDenied('fields', 'update');
  await changeField(application.definitionContext(caller, requestId), collection, field, { enum: options });
}
