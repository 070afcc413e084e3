/**
 * The hooks of one application's changes. Enters what is about to change, and leaves it as extensions would have it, or
 * refused; after a change is durable, tells of it.
 */
import type { Logger } from '../base/logger.ts';
import type { NewEvents } from '../changes/change-log.ts';
import { matchesEvent } from '../changes/event-pattern.ts';
import type { Caller } from '../identity/caller.ts';
import { plainJson, withExactParts } from '../protocol/exact-json.ts';
import { isObject } from '../protocol/json-text.ts';
import type { AfterHook, BeforeHook, Change, Extension, Values } from './extension.ts';
import { refuse, timed } from './timed.ts';

const beforeMilliseconds = 2000;
const afterMilliseconds = 10_000;
const definitions = new Set(['collections', 'fields']);

/** What is about to happen to one record or definition. */
export type Asked = Pick<Change, 'collection' | 'action' | 'key' | 'values' | 'requestId'> & {
  readonly caller: Caller | null;
};

interface Named<Hook> {
  readonly extension: string;
  readonly hook: Hook;
}

export class EventManager {
  readonly #application: string;
  readonly #logger: Logger;
  readonly #before: readonly Named<BeforeHook>[];
  readonly #after: readonly Named<AfterHook>[];
  readonly #telling = new Set<Promise<void>>();

  private constructor(extensions: readonly Extension[], application: string, logger: Logger) {
    this.#application = application;
    this.#logger = logger;
    this.#before = extensions.flatMap(({ name, before = [] }) => before.map((hook) => ({ extension: name, hook })));
    this.#after = extensions.flatMap(({ name, after = [] }) => after.map((hook) => ({ extension: name, hook })));
  }

  /** Null where no extension has a hook: then changes cost nothing more. */
  static of(extensions: readonly Extension[], application: string, logger: Logger): EventManager | null {
    const manager = new EventManager(extensions, application, logger);
    return manager.#before.length + manager.#after.length > 0 ? manager : null;
  }

  /** Whether changes of a collection are looked at before they happen. */
  asks(collection: string, isSystem: boolean): boolean {
    return this.#before.some(({ hook }) => isMeant(hook, collection, isSystem));
  }

  /** Asks the hooks one after the other; returns the values as the last one left them. */
  async before(asked: Asked, isSystem: boolean): Promise<Values> {
    let { values } = asked;
    for (const { extension, hook } of this.#before) {
      if (!isMeant(hook, asked.collection, isSystem) || !hook.actions.includes(asked.action)) continue;
      const caller = asked.caller && { role: asked.caller.role, user: asked.caller.user };
      const given = values;
      // They see plain numbers and objects; what they leave alone loses nothing.
      const plain = plainJson(given) as Values;
      const answered = await timed(extension, beforeMilliseconds, this.#logger, async (signal) => {
        const answer = await hook.run({
          ...asked,
          caller,
          values: structuredClone(plain),
          application: this.#application,
          signal,
          refuse,
        });
        if (answer !== undefined && !isObject(answer)) throw new Error('a hook returned something else than values');
        return answer;
      });
      if (answered !== undefined) values = withExactParts(answered, plain, given) as Values;
    }
    return values;
  }

  /** Asks the hooks of definitions about a change whose event is about to be logged, such as `fields.created`. */
  async beforeDefinition(event: string, key: string, caller: Caller, requestId: string | null): Promise<void> {
    const [collection = '', verb = ''] = event.split('.');
    const action = ({ created: 'create', updated: 'update', destroyed: 'destroy' } as const)[verb];
    if (action) await this.before({ collection, action, key, values: {}, caller, requestId }, true);
  }

  /** Tells of events that are durable. Returns at once: nobody waits for it. */
  told({ name, resource, tks, actor, requestId, changed }: NewEvents, at: string): void {
    for (const { extension, hook } of this.#after) {
      if (!matchesEvent(hook.events, name)) continue;
      for (const tk of tks) {
        const fields = { application: this.#application, at, name, resource, tk, actor, requestId };
        const event =
          'payload' in changed
            ? { ...fields, changed: [], payload: plainJson(changed.payload) }
            : { ...fields, changed };
        const telling = timed(extension, afterMilliseconds, this.#logger, () => hook.run(event))
          .catch((error: unknown) => this.#logger.warn({ err: error, extension, event: name }, 'a hook failed'))
          .finally(() => this.#telling.delete(telling));
        this.#telling.add(telling);
      }
    }
  }

  /** Lets hooks under way come to their end. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#telling);
  }
}

function isMeant({ collection }: BeforeHook, name: string, isSystem: boolean): boolean {
  return collection === name || (collection === '*' && !isSystem && !definitions.has(name));
}
