/**
 * A draft as it lies on the server. A save bears the version that it goes on from, so that two tabs do not write over each
 * other; what makes something bears an Idempotency-Key, so that a reply that got lost makes nothing twice.
 */
import { type Asked, type Client, Failure, type Reply } from '@tablinum/client';
import { newKey } from '../../data/new-key.ts';
import type { Email } from '../mail.ts';
import { nothing, type Written, writtenOf } from './written.ts';

/** A request that makes a draft. */
interface Making {
  readonly key: string;
  readonly path: string;
  readonly body: object;
  /** What it says. */
  readonly of: Written;
}

export class StoredDraft {
  readonly #client: Client;
  #id: number | null = null;
  #version: string | null = null;
  #told: Written = nothing;
  /** While nobody knows whether it arrived it is repeated as it was. */
  #making: Making | null = null;
  #sendKey = newKey();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Null while there is none. */
  get id(): number | null {
    return this.#id;
  }

  /** What it said when it was last heard of. */
  get told(): Written {
    return this.#told;
  }

  async read(id: number): Promise<Email> {
    return this.#keep(await this.#get(id));
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
  async make(path: string, body: object, of: Written): Promise<{ readonly email: Email; readonly of: Written }> {
    this.#making ??= { key: newKey(), path, body, of };
    const making = this.#making;
    try {
      const reply = await this.#post<Email>(making.path, { body: making.body, idempotencyKey: making.key });
      this.#making = null;
      return { email: this.#keep(reply), of: making.of };
    } catch (error) {
      if (!isLost(error)) this.#making = null;
      throw error;
    }
  }

  /** @throws Failure 412 where it is another version by now. */
  async save(change: object): Promise<Email> {
    return this.#keep(await this.#post('emails:saveDraft', { body: { id: this.#id, ...change }, ...this.#match() }));
  }

  async attach(file: File): Promise<Email> {
    const query = { filterByTk: this.#id, filename: file.name, ...(file.type && { contentType: file.type }) };
    const body = new Blob([file], { type: 'application/octet-stream' });
    return this.#keep(await this.#post('emails:attach', { query, body, ...this.#match() }));
  }

  /** Into the outbox, once, however often it is asked. @returns the message there. */
  async send(): Promise<number> {
    try {
      const asked = { body: { id: this.#id }, idempotencyKey: this.#sendKey, ...this.#match() };
      return (await this.#post<{ id: number }>('emails:send', asked)).data.id;
    } catch (error) {
      // What was refused was not done: it may be asked with other contents. What got lost may have been done.
      if (!isLost(error)) this.#sendKey = newKey();
      throw error;
    }
  }

  async destroy(id = this.#id): Promise<void> {
    if (id !== null) await this.#client.post('emails:destroy', { ids: [id] }, { force: true });
  }

  /** As it is now, without going on from that; null where it was sent or discarded. */
  async look(): Promise<{ readonly theirs: Written; readonly version: string | null } | null> {
    try {
      const { data, etag } = await this.#get(this.#id!);
      return data.draft ? { theirs: writtenOf(data), version: etag } : null;
    } catch (error) {
      if (isAway(error)) return null;
      throw error;
    }
  }

  /** The next save goes on from this version. */
  goOnFrom(version: string | null, told: Written): void {
    this.#version = version;
    this.#told = told;
  }

  /** It is there no more: the next save makes another one. */
  forget(): void {
    this.#id = null;
    this.#version = null;
    this.#told = nothing;
  }

  #keep({ data, etag }: Reply<Email>): Email {
    this.#id = data.id;
    this.goOnFrom(etag, writtenOf(data));
    return data;
  }

  #match(): { readonly ifMatch?: string } {
    return this.#version === null ? {} : { ifMatch: this.#version };
  }

  #get(id: number): Promise<Reply<Email>> {
    return this.#client.call<Email>('emails:get', { query: { filterByTk: id } });
  }

  #post<T = Email>(path: string, asked: Asked): Promise<Reply<T>> {
    return this.#client.call<T>(path, { method: 'POST', ...asked });
  }
}

export const isStale = (error: unknown): boolean => error instanceof Failure && error.status === 412;
export const isAway = (error: unknown): boolean =>
  error instanceof Failure && (error.status === 404 || error.status === 403);
/** Nobody knows whether it was done. */
export const isLost = (error: unknown): boolean => error instanceof Failure && error.lost;
