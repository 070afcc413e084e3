/** The first steps of a write: extensions' before hooks see the body, then the rules of the collection prepare it. */
import type { HookedAction } from '../../extensions/extension.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, PreparedBody } from '../record-rules.ts';
import type { WriteOperation } from './write-steps.ts';

/** Whether before hooks require a transaction that is not open yet: what a hook writes commits with the write itself. */
export function needsHookTransaction({ hooks, tx }: RecordContext, { name, system }: Collection): boolean {
  return hooks !== null && tx === null && hooks.hasBeforeHook(name, system);
}

/** A body as the before hooks and then the rules of its collection leave it. */
export function prepareBody(
  operation: WriteOperation,
  action: 'create' | 'update',
  body: unknown,
): PreparedBody | Promise<PreparedBody> {
  return operation.context.hooks === null && !operation.rules?.prepare
    ? { body: body as Body }
    : runPreparation(operation, action, body);
}

async function runPreparation(
  operation: WriteOperation,
  action: 'create' | 'update',
  body: unknown,
): Promise<PreparedBody> {
  const hookedBody = isObject(body) ? await applyBeforeHook(operation, action, body) : body;
  const key = action === 'create' ? null : operation.key;
  return operation.rules?.prepare?.(hookedBody, key, operation.context) ?? { body: hookedBody as Body };
}

/** Runs the before hooks of a write. @returns the values as the hooks leave them. */
export async function applyBeforeHook(
  { context, collection, key: keys }: Pick<WriteOperation, 'context' | 'collection' | 'key'>,
  action: HookedAction,
  values: Body,
): Promise<Body> {
  const { hooks, caller, requestId } = context;
  if (!hooks?.hasBeforeHook(collection.name, collection.system)) return values;
  const key = Array.isArray(keys) ? null : (keys ?? null);
  const change = { collection: collection.name, action, key, values, caller, requestId };
  return hooks.before(change, collection.system);
}

/** Records that change because another record does: by a cascade, or because their link is set to null. */
export interface CascadedChange {
  readonly collection: Collection;
  readonly action: HookedAction;
  readonly keys: readonly unknown[];
  readonly values: Body;
}

/**
 * Runs the before hooks for cascaded changes, one by one. A hook may refuse a change; it cannot give it other values.
 */
export async function askCascadeHooks(
  { hooks, caller, requestId }: RecordContext,
  { collection: { name, system }, action, keys, values }: CascadedChange,
): Promise<void> {
  if (!hooks?.hasBeforeHook(name, system)) return;
  for (const key of keys) await hooks.before({ collection: name, action, key, values, caller, requestId }, system);
}
