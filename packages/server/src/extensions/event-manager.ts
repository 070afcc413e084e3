/**
 * Runs the hooks of extensions. Before a change, hooks may replace its values or refuse it. After a change is durable,
 * hooks receive its events.
 */
import type { Logger } from '../base/logger.ts';
import type { NewEvents } from '../changes/change-log.ts';
import { matchesEvent } from '../changes/event-pattern.ts';
import type { Caller } from '../identity/caller.ts';
import { plainJson, withExactParts } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import type { AfterHook, BeforeHook, Extension, PendingChange, Values } from './extension.ts';
import { refuse, runWithTimeout } from './run-with-timeout.ts';

const beforeMilliseconds = 2000;
const afterMilliseconds = 10_000;
const definitions = new Set(['collections', 'fields']);

/** A change of one record or definition that is about to be made. */
export type ChangeRequest = Pick<PendingChange, 'collection' | 'action' | 'key' | 'values' | 'requestId'> & {
  readonly caller: Caller | null;
};

interface ExtensionHook<Hook> {
  readonly extension: string;
  readonly hook: Hook;
}

/** The hooks of extensions for one application. */
export class EventManager {
  readonly #application: string;
  readonly #logger: Logger;
  readonly #before: readonly ExtensionHook<BeforeHook>[];
  readonly #after: readonly ExtensionHook<AfterHook>[];
  readonly #running = new Set<Promise<void>>();

  private constructor(extensions: readonly Extension[], application: string, logger: Logger) {
    this.#application = application;
    this.#logger = logger;
    this.#before = extensions.flatMap(({ name, before = [] }) => before.map((hook) => ({ extension: name, hook })));
    this.#after = extensions.flatMap(({ name, after = [] }) => after.map((hook) => ({ extension: name, hook })));
  }

  /** @returns null if no extension has a hook. Changes then have no extra cost. */
  static of(extensions: readonly Extension[], application: string, logger: Logger): EventManager | null {
    const manager = new EventManager(extensions, application, logger);
    return manager.#before.length + manager.#after.length > 0 ? manager : null;
  }

  /** Whether a hook runs before changes of a collection. */
  hasBeforeHook(collection: string, isSystem: boolean): boolean {
    return this.#before.some(({ hook }) => matchesCollection(hook, collection, isSystem));
  }

  /** Runs the hooks one after another. @returns the values that the last one returned. */
  async before(change: ChangeRequest, isSystem: boolean): Promise<Values> {
    let { values } = change;
    for (const { extension, hook } of this.#before) {
      if (!matchesCollection(hook, change.collection, isSystem) || !hook.actions.includes(change.action)) continue;
      const caller = change.caller && { role: change.caller.role, user: change.caller.user };
      const original = values;
      // Hooks receive plain numbers and objects. Values that they do not change keep their precision.
      const plain = plainJson(original) as Values;
      const result = await runWithTimeout(extension, beforeMilliseconds, this.#logger, async (signal) => {
        const returned = await hook.run({
          ...change,
          caller,
          values: structuredClone(plain),
          application: this.#application,
          signal,
          refuse,
        });
        if (returned !== undefined && !isObject(returned))
          throw new Error('The hook must return an object of values, or undefined.');
        return returned;
      });
      if (result !== undefined) values = withExactParts(result, plain, original) as Values;
    }
    return values;
  }

  /** Runs the hooks of definitions for a change whose event is about to be logged, such as `fields.created`. */
  async beforeDefinition(event: string, key: string, caller: Caller, requestId: string | null): Promise<void> {
    const [collection = '', verb = ''] = event.split('.');
    const action = ({ created: 'create', updated: 'update', destroyed: 'destroy' } as const)[verb];
    if (action) await this.before({ collection, action, key, values: {}, caller, requestId }, true);
  }

  /** Starts the hooks for durable events, and does not wait for them. */
  emitEvents({ name, resource, keys, actor, requestId, changed }: NewEvents, time: string): void {
    for (const { extension, hook } of this.#after) {
      if (!matchesEvent(hook.events, name)) continue;
      for (const key of keys) {
        const fields = { application: this.#application, at: time, name, resource, tk: key, actor, requestId };
        const event =
          'payload' in changed
            ? { ...fields, changed: [], payload: plainJson(changed.payload) }
            : { ...fields, changed };
        const delivery = runWithTimeout(extension, afterMilliseconds, this.#logger, () => hook.run(event))
          .catch((error: unknown) =>
            this.#logger.warn({ err: error, extension, event: name }, 'A hook of an extension failed.'),
          )
          .finally(() => this.#running.delete(delivery));
        this.#running.add(delivery);
      }
    }
  }

  /** Waits for running hooks. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

function matchesCollection({ collection }: BeforeHook, name: string, isSystem: boolean): boolean {
  return collection === name || (collection === '*' && !isSystem && !definitions.has(name));
}
