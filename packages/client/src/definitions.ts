/** Collections and fields: what a developer defines. */
import type { CollectionOptions } from '@tablinum/server/protocol';
import type { Transport } from './transport.ts';
import type { Collection, Field, Impact } from './wire.ts';

/** A collection to be made; options may be left out. */
export interface NewCollection {
  readonly name: string;
  readonly title?: string | null;
  readonly description?: string | null;
  readonly fields?: readonly Field[];
  readonly options?: Partial<CollectionOptions>;
}

export interface CollectionChange {
  readonly title?: string | null;
  readonly description?: string | null;
  readonly options?: Partial<CollectionOptions>;
}

type OrNull<T> = { readonly [K in keyof T]?: T[K] | null };
/** What is to change of a field; null takes an option away, `newName` renames the field and keeps its data. */
export type FieldChange = OrNull<Omit<Field, 'name'>> & { readonly newName?: string };

export class Definitions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(): Promise<readonly Collection[]> {
    return (await this.#transport.call<Collection[]>('collections:list')).data;
  }

  async get(name: string): Promise<Collection> {
    const query = { filterByTk: name, appends: ['fields'] };
    return (await this.#transport.call<Collection>('collections:get', { query })).data;
  }

  async fields(collection: string): Promise<readonly Field[]> {
    return (await this.#transport.call<Field[]>(`collections/${encodeURIComponent(collection)}/fields:list`)).data;
  }

  async field(collection: string, name: string): Promise<Field> {
    const path = `collections/${encodeURIComponent(collection)}/fields:get`;
    return (await this.#transport.call<Field>(path, { query: { filterByTk: name } })).data;
  }

  create(collection: NewCollection): Promise<Collection> {
    return this.#post('collections:create', {}, collection);
  }

  /** Makes what is missing and changes what differs, all of it or nothing. */
  apply(collections: readonly NewCollection[]): Promise<readonly Collection[]> {
    return this.#post('collections:apply', {}, collections);
  }

  update(name: string, change: CollectionChange): Promise<Collection> {
    return this.#post('collections:update', { filterByTk: name }, change);
  }

  /** `cascade` takes the relations of other collections along. */
  destroy(name: string, cascade = false): Promise<number> {
    return this.#post('collections:destroy', { filterByTk: name, ...(cascade && { cascade }) });
  }

  /** What {@link destroy} would do; nothing changes. */
  impactOfDestroy(name: string, cascade = false): Promise<Impact> {
    return this.#post('collections:destroy', { filterByTk: name, ...(cascade && { cascade }), dryRun: true });
  }

  createField(collection: string, field: Field): Promise<Field> {
    return this.#post('fields:create', {}, { collectionName: collection, ...field });
  }

  updateField(collection: string, name: string, change: FieldChange): Promise<Field> {
    return this.#post('fields:update', {}, { collectionName: collection, name, ...change });
  }

  destroyField(collection: string, name: string): Promise<number> {
    return this.#post('fields:destroy', {}, { collectionName: collection, name });
  }

  impactOfDestroyField(collection: string, name: string): Promise<Impact> {
    return this.#post('fields:destroy', { dryRun: true }, { collectionName: collection, name });
  }

  async #post<T>(path: string, query: object, body?: unknown): Promise<T> {
    const asked = { method: 'POST' as const, query };
    return (await this.#transport.call<T>(path, body === undefined ? asked : { ...asked, body })).data;
  }
}
