import type { Logger } from '../base/logger.ts';
import type { Transaction } from '../database/database.ts';
import type { ActionContext, CallerRecords, Extension, ExtensionAction, Values } from '../extensions/extension.ts';
import { ExtensionError } from '../extensions/load-extensions.ts';
import { refuse, runWithTimeout } from '../extensions/run-with-timeout.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { type NormalisedAction, normaliseRequest } from '../protocol/request-normaliser.ts';
import { permissionDenied } from '../query/read-access.ts';
import { getRecord, listRecords } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { createWithNested, updateWithNested } from '../records/relations/nested-values.ts';
import { getRules } from '../records/system/system-rules.ts';
import { performDryRun } from '../records/write/dry-run.ts';
import { hashBodySecrets } from '../records/write/secrets.ts';
import { destroyRecords } from '../records/write/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { isDryRun } from './known-parameters.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';

const actionMilliseconds = 10_000;

/**
 * The actions of extensions.
 *
 * @throws ExtensionError for an action that the server or another extension already has.
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
        throw new ExtensionError(name, `the action "${each.action}" exists already. Rename it.`);
      added[each.action] = {
        reads: each.reads,
        ...(each.permission === 'public' && { public: true }),
        run: (request) => runExtensionAction(name, each, request, logger),
      };
    }
  return added;
}

async function runExtensionAction(
  extension: string,
  action: ExtensionAction,
  request: RequestContext,
  logger: Logger,
): Promise<ActionResult> {
  const { application, caller, requestId, body } = request;
  const { permission } = action;
  if (
    permission !== 'public' &&
    !application.recordContext(caller, requestId).findGrant(permission.resource, permission.action)
  )
    throw permissionDenied(permission.resource, permission.action);
  const parameters = request.parameters();
  const dryRun = !action.reads && isDryRun(parameters);
  const invoke = (records: (signal: AbortSignal) => CallerRecords): Promise<string> =>
    runWithTimeout(extension, actionMilliseconds, logger, async (signal) => {
      const context: ActionContext = {
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
      return JSON.stringify((await action.run(context)) ?? null);
    });
  if (!dryRun) return { data: await runTrackingCommits(invoke, request) };
  const data = await application.withCurrentSnapshot(() =>
    performDryRun(getRecordContext(request), (tx) => runDryRun(request, tx, invoke)),
  );
  return { data, meta: { dryRun: true } };
}

/** Each operation of the action is committed separately, so a refusal after the first one must not repeat the action. */
async function runTrackingCommits(
  invoke: (records: () => CallerRecords) => Promise<string>,
  request: RequestContext,
): Promise<string> {
  let hasCommitted = false;
  const onCommit = (): void => {
    hasCommitted = true;
  };
  try {
    return await invoke(() => createCallerRecords(request, null, onCommit));
  } catch (error) {
    if (hasCommitted && error instanceof ApiError) error.isFinal = true;
    throw error;
  }
}

/** Runs an action in one transaction, which is rolled back. One refused operation fails the dry run. */
async function runDryRun(
  request: RequestContext,
  tx: RecordContext,
  invoke: (records: (signal: AbortSignal) => CallerRecords) => Promise<string>,
): Promise<string> {
  const failures: unknown[] = [];
  const data = await invoke((signal) => {
    const { tx: transaction } = tx;
    // An action that continues after its time limit must not write after the end of the transaction.
    const bounded: Transaction = {
      run: async (statement) => {
        if (signal.aborted) throw new Error('The dry run has ended.');
        return transaction!.run(statement);
      },
      touch: (table) => transaction!.touch(table),
      afterDurable: (work) => transaction!.afterDurable(work),
    };
    return createCallerRecords(request, { context: { ...tx, tx: bounded }, failures });
  });
  if (failures.length > 0) throw failures[0];
  return data;
}

interface DryRunScope {
  readonly context: RecordContext;
  /** The refusals of its operations. */
  readonly failures: unknown[];
}

/**
 * Reads and writes records with the caller's permissions. Each operation is committed separately.
 *
 * @param dryRun if set, all operations share a transaction that is rolled back.
 * @param onCommit is called after each committed operation.
 */
function createCallerRecords(
  { application, caller, requestId, zone }: RequestContext,
  dryRun: DryRunScope | null,
  onCommit: () => void = () => {},
): CallerRecords {
  const buildRequest = (action: NormalisedAction, parameters: Values): RecordRequest =>
    normaliseRequest(action, parameters, false);
  const withCollection = async <T>(
    name: string,
    work: (context: RecordContext, collection: Collection) => Promise<{ readonly data: string }>,
  ): Promise<T> => {
    const runOperation = async (context: RecordContext): Promise<{ readonly data: string }> => {
      const collection = context.registry.find(name);
      if (!collection) throw new ApiError('COLLECTION_UNKNOWN', `There is no collection "${name.slice(0, 60)}".`);
      return work(context, collection);
    };
    if (dryRun) {
      const part = runOperation(dryRun.context);
      part.catch((error: unknown) => dryRun.failures.push(error));
      return JSON.parse((await part).data) as T;
    }
    const { data } = await application.withCurrentSnapshot(() =>
      runOperation(application.recordContext(caller, requestId, zone)),
    );
    onCommit();
    return JSON.parse(data) as T;
  };
  return {
    list: (name, parameters = {}) =>
      withCollection(name, (context, collection) => listRecords(context, collection, buildRequest('list', parameters))),
    get: (name, key) =>
      withCollection(name, (context, collection) =>
        getRecord(context, collection, buildRequest('get', { filterByTk: key })),
      ),
    create: (name, values) =>
      withCollection(name, async (context, collection) => {
        const ready = await hashBodySecrets(context, collection, values);
        return createWithNested(ready, collection, buildRequest('create', {}), values);
      }),
    update: (name, key, values) =>
      withCollection(name, async (context, collection) => {
        const ready = await hashBodySecrets(context, collection, values);
        return updateWithNested(ready, collection, buildRequest('update', { filterByTk: key }), {
          body: values,
          match: null,
        });
      }),
    destroy: (name, key) =>
      withCollection(name, (context, collection) =>
        destroyRecords(context, collection, buildRequest('destroy', { filterByTk: key }), {
          rules: getRules(collection),
        }),
      ),
  };
}
