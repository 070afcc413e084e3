/**
 * A draft as it lies on the server. A save bears the version that it goes on from, so that two tabs do not write over each
 * other; what makes something bears an Idempotency-Key, so that a reply that got lost makes nothing twice.
 */
import { type Client, Failure, type Reply, type RequestOptions } from '@tablinum/client';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import type { Email } from '../mail-types.ts';
import { type DraftContent, emptyContent, toDraftContent } from './draft-content.ts';

/** A request that makes a draft. */
interface PendingCreate {
  readonly key: string;
  readonly path: string;
  readonly body: object;
  /** What it says. */
  readonly content: DraftContent;
}

export class StoredDraft {
  readonly #client: Client;
  #id: number | null = null;
  #version: string | null = null;
  #savedContent: DraftContent = emptyContent;
  /** While nobody knows whether it arrived it is repeated as it was. */
  #pending: PendingCreate | null = null;
  #sendKey = createIdempotencyKey();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Null while there is none. */
  get id(): number | null {
    return this.#id;
  }

  /** What it said when it was last heard of. */
  get savedContent(): DraftContent {
    return this.#savedContent;
  }

  async read(id: number): Promise<Email> {
    return this.#adoptReply(await this.#get(id));
  }

  /** What `path` would make, without making it. Ids in it are of nothing. */
  async preview(path: string, body: object): Promise<Email> {
    return (await this.#post<Email>(path, { query: { dryRun: true }, body })).data;
  }

  /**
   * Makes it, by `emails:saveDraft` or one of the answers.
   *
   * @returns the draft, and what was saved in it: an earlier text, where the request is one that had got lost.
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

  /** @throws Failure 412 where it is another version by now. */
  async save(change: object): Promise<Email> {
    return this.#adoptReply(
      await this.#post('emails:saveDraft', { body: { id: this.#id, ...change }, ...this.#match() }),
    );
  }

  async attach(file: File): Promise<Email> {
    const query = { filterByTk: this.#id, filename: file.name, ...(file.type && { contentType: file.type }) };
    const body = new Blob([file], { type: 'application/octet-stream' });
    return this.#adoptReply(await this.#post('emails:attach', { query, body, ...this.#match() }));
  }

  /** Into the outbox, once, however often it is asked. @returns the message there. */
  async send(): Promise<number> {
    try {
      const requestOptions = { body: { id: this.#id }, idempotencyKey: this.#sendKey, ...this.#match() };
      return (await this.#post<{ id: number }>('emails:send', requestOptions)).data.id;
    } catch (error) {
      // What was refused was not done: it may be asked with other contents. What got lost may have been done.
      if (!isOutcomeUnknown(error)) this.#sendKey = createIdempotencyKey();
      throw error;
    }
  }

  async destroy(id = this.#id): Promise<void> {
    if (id !== null) await this.#client.post('emails:destroy', { ids: [id] }, { force: true });
  }

  /** As it is now, without going on from that; null where it was sent or discarded. */
  async fetchCurrent(): Promise<{ readonly theirs: DraftContent; readonly version: string | null } | null> {
    try {
      const { data, etag } = await this.#get(this.#id!);
      return data.draft ? { theirs: toDraftContent(data), version: etag } : null;
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  /** The next save goes on from this version. */
  setBase(version: string | null, content: DraftContent): void {
    this.#version = version;
    this.#savedContent = content;
  }

  /** It is there no more: the next save makes another one. */
  reset(): void {
    this.#id = null;
    this.#version = null;
    this.#savedContent = emptyContent;
  }

  #adoptReply({ data, etag }: Reply<Email>): Email {
    this.#id = data.id;
    this.setBase(etag, toDraftContent(data));
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
/** Nobody knows whether it was done. */
export const isOutcomeUnknown = (error: unknown): boolean => error instanceof Failure && error.outcomeUnknown;
