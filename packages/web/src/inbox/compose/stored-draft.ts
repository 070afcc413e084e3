/**
 * A draft on the server. A save sends the version that it is based on, so that two tabs do not overwrite each other.
 * Requests that create something send an Idempotency-Key, so that a retry after a lost response creates nothing twice.
 */
import { type Client, Failure, type Reply, type RequestOptions } from '@tablinum/client';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import type { Email } from '../mail-types.ts';
import { type DraftContent, emptyContent, toDraftContent } from './draft-content.ts';
import type { AttachOptions } from './draft-uploads.ts';
import { getFollowUpTime } from './follow-up-times.ts';

/** A request that creates a draft. */
interface PendingCreate {
  readonly key: string;
  readonly path: string;
  readonly body: object;
  /** The content of the draft. */
  readonly content: DraftContent;
}

export class StoredDraft {
  readonly #client: Client;
  #id: number | null = null;
  #version: string | null = null;
  #savedContent: DraftContent = emptyContent;
  /** Repeated unchanged while its outcome is unknown. */
  #pending: PendingCreate | null = null;
  /** Repeated unchanged while its outcome is unknown. */
  #sending: { readonly key: string; readonly sendAt: string | null; readonly followUpAt: string | null } | null = null;

  readonly #senders: ReadonlySet<string>;

  /** @param senders the addresses that the user can send from, in lower case. */
  constructor(client: Client, senders: ReadonlySet<string>) {
    this.#client = client;
    this.#senders = senders;
  }

  toContent(email: Email): DraftContent {
    return toDraftContent(email, this.#senders);
  }

  /** Null while there is no stored draft. */
  get id(): number | null {
    return this.#id;
  }

  /** The last known content on the server. */
  get savedContent(): DraftContent {
    return this.#savedContent;
  }

  async read(id: number): Promise<Email> {
    return this.#adoptReply(await this.#get(id));
  }

  /** The draft that `path` would create, without creating it. Its ids are not valid. */
  async preview(path: string, body: object): Promise<Email> {
    return (await this.#post<Email>(path, { query: { dryRun: true }, body })).data;
  }

  /**
   * Creates the draft with `emails:saveDraft` or a reply action.
   *
   * @returns the draft and its content, which is an earlier one if a lost request was repeated.
   */
  async create(
    path: string,
    body: object,
    content: DraftContent,
  ): Promise<{ readonly email: Email; readonly content: DraftContent }> {
    this.#pending ??= { key: createIdempotencyKey(), path, body, content };
    const pending = this.#pending;
    try {
      const reply = await this.#post<Email>(pending.path, { body: pending.body, idempotencyKey: pending.key });
      this.#pending = null;
      return { email: this.#adoptReply(reply), content: pending.content };
    } catch (error) {
      if (!isOutcomeUnknown(error)) this.#pending = null;
      throw error;
    }
  }

  /** @throws Failure 412 if the draft has another version by now. */
  async save(change: object): Promise<Email> {
    return this.#adoptReply(
      await this.#post('emails:saveDraft', { body: { id: this.#id, ...change }, ...this.#match() }),
    );
  }

  async attach(file: File, { contentId, signal, progress }: AttachOptions): Promise<Email> {
    signal?.throwIfAborted();
    const query = {
      filterByTk: this.#id,
      filename: file.name,
      ...(file.type && { contentType: file.type }),
      ...(contentId !== undefined && { contentId }),
    };
    const body = new Blob([file], { type: 'application/octet-stream' });
    const requestOptions = { query, body, ...(signal && { signal }), ...(progress && { progress }) };
    return this.#adoptReply(await this.#post('emails:attach', { ...requestOptions, ...this.#match() }));
  }

  /**
   * Puts the draft into the outbox once, however often it is called.
   *
   * @param sendAt ISO 8601; null: as soon as possible.
   * @param followUpDays days after that after which the user is reminded if nobody answers; null: never.
   * @returns the id of the message there.
   */
  async send(sendAt: string | null, followUpDays: number | null): Promise<number> {
    const followUpAt = followUpDays === null ? null : getFollowUpTime(followUpDays, sendAt);
    this.#sending ??= { key: createIdempotencyKey(), sendAt, followUpAt };
    const { key, sendAt: time, followUpAt: reminder } = this.#sending;
    try {
      const body = { id: this.#id, ...(time !== null && { sendAt: time }), ...(reminder && { followUpAt: reminder }) };
      return (await this.#post<{ id: number }>('emails:send', { body, idempotencyKey: key, ...this.#match() })).data.id;
    } catch (error) {
      // A refused request had no effect, so the next one gets a new key. A lost request may have had an effect.
      if (!isOutcomeUnknown(error)) this.#sending = null;
      throw error;
    }
  }

  async destroy(id = this.#id): Promise<void> {
    if (id !== null) await this.#client.post('emails:destroy', { ids: [id] }, { force: true });
  }

  /** The current draft on the server, without changing the base version; null if it was sent or discarded. */
  async fetchCurrent(): Promise<{ readonly theirs: DraftContent; readonly version: string | null } | null> {
    try {
      const { data, etag } = await this.#get(this.#id!);
      return data.draft ? { theirs: this.toContent(data), version: etag } : null;
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  /** Sets the version that the next save is based on. */
  setBase(version: string | null, content: DraftContent): void {
    this.#version = version;
    this.#savedContent = content;
  }

  /** Forgets a draft that no longer exists. The next save creates a new one. */
  reset(): void {
    this.#id = null;
    this.#version = null;
    this.#savedContent = emptyContent;
  }

  #adoptReply({ data, etag }: Reply<Email>): Email {
    this.#id = data.id;
    this.setBase(etag, this.toContent(data));
    return data;
  }

  #match(): { readonly ifMatch?: string } {
    return this.#version === null ? {} : { ifMatch: this.#version };
  }

  #get(id: number): Promise<Reply<Email>> {
    return this.#client.call<Email>('emails:get', { query: { filterByTk: id } });
  }

  #post<T = Email>(path: string, requestOptions: RequestOptions): Promise<Reply<T>> {
    return this.#client.call<T>(path, { method: 'POST', ...requestOptions });
  }
}

export const isStale = (error: unknown): boolean => error instanceof Failure && error.status === 412;
export const isNotFound = (error: unknown): boolean =>
  error instanceof Failure && (error.status === 404 || error.status === 403);
/** The outcome of the request is unknown. */
export const isOutcomeUnknown = (error: unknown): boolean => error instanceof Failure && error.outcomeUnknown;
/** No reply has arrived from the server. */
export const isUnreachable = (error: unknown): boolean => error instanceof Failure && error.offline;
