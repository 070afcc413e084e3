import type { Logger } from '../base/logger.ts';
import type { Transaction } from '../database/database.ts';
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
import { tried } from '../records/trial.ts';
import { destroyRecords } from '../records/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { type Answer, type Call, contextOf, type SystemAction } from './call.ts';
import { isTrial } from './known-parameters.ts';

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
  const parameters = call.parameters();
  const dryRun = !action.reads && isTrial(parameters);
  const answered = (records: (signal: AbortSignal) => CallerRecords): Promise<string> =>
    timed(extension, actionMilliseconds, logger, async (signal) => {
      const given: ActionCall = {
        application: application.name,
        caller: { role: caller.role, user: caller.user },
        parameters,
        body,
        requestId,
        signal,
        dryRun,
        records: records(signal),
        refuse,
      };
      return JSON.stringify((await action.run(given)) ?? null);
    });
  if (!dryRun) return { data: await onceCommitted(answered, call) };
  const data = await application.current(() => tried(contextOf(call), (inside) => trial(call, inside, answered)));
  return { data, meta: { dryRun: true } };
}

/** Each operation of the action is committed by itself, so a refusal after the first one must not run the action again. */
async function onceCommitted(answered: (records: () => CallerRecords) => Promise<string>, call: Call): Promise<string> {
  let hasCommitted = false;
  const committed = (): void => {
    hasCommitted = true;
  };
  try {
    return await answered(() => recordsOf(call, null, committed));
  } catch (error) {
    if (hasCommitted && error instanceof ApiError) error.isFinal = true;
    throw error;
  }
}

/** All that an action does in one transaction, which is taken back. One operation that is refused refuses the trial. */
async function trial(
  call: Call,
  inside: RecordContext,
  answered: (records: (signal: AbortSignal) => CallerRecords) => Promise<string>,
): Promise<string> {
  const failures: unknown[] = [];
  const data = await answered((signal) => {
    const { inside: transaction } = inside;
    // An action that goes on after its time must not write when the transaction is over.
    const bounded: Transaction = {
      run: async (statement) => {
        if (signal.aborted) throw new Error('the trial is over');
        return transaction!.run(statement);
      },
      touch: (table) => transaction!.touch(table),
      afterDurable: (work) => transaction!.afterDurable(work),
    };
    return recordsOf(call, { context: { ...inside, inside: bounded }, failures });
  });
  if (failures.length > 0) throw failures[0];
  return data;
}

interface Trial {
  readonly context: RecordContext;
  /** What its operations were refused with. */
  readonly failures: unknown[];
}

/**
 * Records under the grants of whoever calls. Each operation is a whole one: what it did stays if a later one fails.
 *
 * @param trial where all of them share a transaction that is taken back.
 * @param committed called after each operation that was not a trial.
 */
function recordsOf(
  { application, caller, requestId, zone }: Call,
  trial: Trial | null,
  committed: () => void = () => {},
): CallerRecords {
  const asked = (action: NormalisedAction, parameters: Values): AskedRecordRequest =>
    normaliseRequest(action, parameters, false);
  const on = async <T>(
    name: string,
    work: (context: RecordContext, collection: Collection) => Promise<{ readonly data: string }>,
  ): Promise<T> => {
    const run = async (context: RecordContext): Promise<{ readonly data: string }> => {
      const collection = context.registry.find(name);
      if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
      return work(context, collection);
    };
    if (trial) {
      const part = run(trial.context);
      part.catch((error: unknown) => trial.failures.push(error));
      return JSON.parse((await part).data) as T;
    }
    const { data } = await application.current(() => run(application.recordContext(caller, requestId, zone)));
    committed();
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
