import type { Logger } from '../base/logger.ts';
import type { ActionCall, CallerRecords, Extension, ExtensionAction, Values } from '../extensions/extension.ts';
import { ExtensionError } from '../extensions/load-extensions.ts';
import { refuse, timed } from '../extensions/timed.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { type NormalisedAction, normaliseRequest } from '../protocol/request-normaliser.ts';
import { denied } from '../query/read-access.ts';
import { createWithNested, updateWithNested } from '../records/nested-values.ts';
import { getRecord, listRecords } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { withSecretsOf } from '../records/secrets.ts';
import { rulesOf } from '../records/system/rules-of.ts';
import { destroyRecords } from '../records/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import type { Answer, Call, SystemAction } from './call.ts';

const actionMilliseconds = 10_000;

/**
 * The actions that extensions add.
 *
 * @throws ExtensionError for one that the server, or another extension, has already.
 */
export function extensionActions(
  extensions: readonly Extension[],
  present: Readonly<Record<string, SystemAction>>,
  logger: Logger,
): Readonly<Record<string, SystemAction>> {
  const added: Record<string, SystemAction> = {};
  for (const { name, actions = [] } of extensions)
    for (const each of actions) {
      if (each.action in present || each.action in added)
        throw new ExtensionError(name, `there is an action "${each.action}" already.`);
      added[each.action] = {
        reads: each.reads,
        ...(each.permission === 'public' && { public: true }),
        run: (call) => run(name, each, call, logger),
      };
    }
  return added;
}

async function run(extension: string, action: ExtensionAction, call: Call, logger: Logger): Promise<Answer> {
  const { application, caller, requestId, body } = call;
  const { permission } = action;
  if (
    permission !== 'public' &&
    !application.recordContext(caller, requestId).grantOf(permission.resource, permission.action)
  )
    throw denied(permission.resource, permission.action);
  const data = await timed(extension, actionMilliseconds, logger, async (signal) => {
    const given: ActionCall = {
      application: application.name,
      caller: { role: caller.role, user: caller.user },
      parameters: call.parameters(),
      body,
      requestId,
      signal,
      records: recordsOf(call),
      refuse,
    };
    return JSON.stringify((await action.run(given)) ?? null);
  });
  return { data };
}

/** Records under the grants of whoever calls. Each operation is a whole one: what it did stays if a later one fails. */
function recordsOf({ application, caller, requestId, zone }: Call): CallerRecords {
  const asked = (action: NormalisedAction, parameters: Values): AskedRecordRequest =>
    normaliseRequest(action, parameters, false);
  const on = async <T>(
    name: string,
    work: (context: RecordContext, collection: Collection) => Promise<{ readonly data: string }>,
  ): Promise<T> => {
    const { data } = await application.current(() => {
      const context = application.recordContext(caller, requestId, zone);
      const collection = context.registry.find(name);
      if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
      return work(context, collection);
    });
    return JSON.parse(data) as T;
  };
  return {
    list: (name, parameters = {}) =>
      on(name, (context, collection) => listRecords(context, collection, asked('list', parameters))),
    get: (name, key) =>
      on(name, (context, collection) => getRecord(context, collection, asked('get', { filterByTk: key }))),
    create: (name, values) =>
      on(name, async (context, collection) => {
        const ready = await withSecretsOf(context, collection, values);
        return createWithNested(ready, collection, asked('create', {}), values);
      }),
    update: (name, key, values) =>
      on(name, async (context, collection) => {
        const ready = await withSecretsOf(context, collection, values);
        return updateWithNested(ready, collection, asked('update', { filterByTk: key }), values, null);
      }),
    destroy: (name, key) =>
      on(name, (context, collection) =>
        destroyRecords(context, collection, asked('destroy', { filterByTk: key }), null, rulesOf(collection)),
      ),
  };
}
