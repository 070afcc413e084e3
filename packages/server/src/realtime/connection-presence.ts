/** The records that one connection has open: who may announce a view, and to whom the others are shown. */
import type { Application } from '../applications/application.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { permissionDenied } from '../query/read-access.ts';
import { recordNotFound } from '../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../records/read/visible-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { parseKey } from '../records/record-key.ts';
import { getPresenceBoard, type OpenView, type PresenceActivity, type PresentUser } from './presence.ts';

/** A parsed request to announce a view. Its names are not resolved yet. */
export interface PresenceRequest {
  readonly resource: string;
  readonly key: unknown;
  readonly activity: PresenceActivity;
}

/** The dependencies of a connection's views. */
interface ConnectionPresenceParts {
  readonly application: Application;
  /** The caller's present context. */
  readonly context: () => RecordContext;
  /** The view has ended: the caller may not get the record any more. */
  readonly reject: (id: string, error: ApiError) => void;
}

const anyRow = createVisibilityQuery(null);

/** The views of one connection, by their ids. */
export class ConnectionPresence {
  readonly #parts: ConnectionPresenceParts;
  readonly #views = new Map<string, OpenView>();

  constructor(parts: ConnectionPresenceParts) {
    this.#parts = parts;
  }

  has(id: string): boolean {
    return this.#views.has(id);
  }

  /**
   * Announces that the caller has a record open, or changes what the caller does with it.
   *
   * @param send receives the other users who have it open, as far as the caller may still get the record.
   * @throws ApiError as a get of the record; `NO_PERMISSION` for a credential without a user.
   */
  async announce(id: string, request: PresenceRequest, send: (present: readonly PresentUser[]) => void): Promise<void> {
    const existing = this.#views.get(id);
    if (existing) return existing.setActivity(request.activity);
    if (this.#views.size >= limits.presences)
      throw new ApiError('LIMIT_EXCEEDED', `A connection can have at most ${limits.presences} records open.`);
    const { resource } = request;
    const userId = this.#parts.context().caller.user?.['id'];
    if (typeof userId !== 'number')
      throw new ApiError(
        'NO_PERMISSION',
        'Presence needs the credential of a user, and this credential belongs to none.',
      );
    const key = await this.#requireVisible(resource, request.key);
    if (this.#views.has(id)) return;
    const verify = async (): Promise<boolean> => {
      try {
        await this.#requireVisible(resource, key);
        return this.#views.has(id);
      } catch (error) {
        if (error instanceof ApiError && error.label !== 'Service Unavailable' && this.close(id))
          this.#parts.reject(id, error);
        return false;
      }
    };
    const view = {
      resource,
      key,
      userId,
      deliver: async (present: readonly PresentUser[]) => {
        if (await verify()) send(present);
      },
      verify: async () => void (await verify()),
    };
    this.#views.set(id, getPresenceBoard(this.#parts.application).open(view, request.activity));
  }

  /** @returns whether there was one. */
  close(id: string): boolean {
    this.#views.get(id)?.close();
    return this.#views.delete(id);
  }

  closeAll(): void {
    for (const id of [...this.#views.keys()]) this.close(id);
  }

  /** @returns the canonical key. @throws ApiError unless the caller may get the record. */
  #requireVisible(resource: string, key: unknown): Promise<string> {
    const { application, context } = this.#parts;
    return application.withCurrentSnapshot(async () => {
      const present = context();
      const grant = present.findGrant(resource, 'get');
      const collection = present.registry.find(resource);
      if (!grant || !collection || collection.internal) throw permissionDenied(resource.slice(0, 60), 'get');
      const parsed = parseKey(key, collection);
      if (parsed === undefined || Array.isArray(parsed))
        throw new ApiError('PARAMETER_INVALID', '"tk" must be the key of one record.');
      const visible = await readVisibleRecords(present, collection, grant, anyRow, [parsed]);
      if (visible.size === 0) throw recordNotFound(collection, grant);
      return String(parsed);
    });
  }
}
