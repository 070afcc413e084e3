/** The definitions of collections and fields. */
import type { CollectionOptions } from '@tablinum/server/protocol';
import type { Collection, Field, Impact, IndexAdvice, List, ListMeta, ReadParameters, SchemaRevisions } from './dto.ts';
import {
  buildImportBody,
  type CollectionPreview,
  type CollectionPreviewOptions,
  type ImportSource,
} from './import-parameters.ts';
import type { RecordWithEtag } from './records.ts';
import type { Transport } from './transport.ts';

/** A collection to create. Options are optional, inside `options` or next to it. */
export interface NewCollection extends Partial<CollectionOptions> {
  readonly name: string;
  readonly title?: string | null;
  readonly description?: string | null;
  readonly fields?: readonly Field[];
  readonly options?: Partial<CollectionOptions>;
}

/** Changes of a collection. Options are inside `options` or next to it. */
export interface CollectionChange extends Partial<CollectionOptions> {
  readonly title?: string | null;
  readonly description?: string | null;
  readonly options?: Partial<CollectionOptions>;
}

/** Lists of definitions have no ETags, and destroyed definitions have no trash. */
export type DefinitionParameters = Omit<ReadParameters, 'versions' | 'withDeleted' | 'onlyDeleted'>;

type NullableOptions<T> = { readonly [K in keyof T]?: T[K] | null };
/** Changes of a field. Null removes an option; `newName` renames the field and keeps its data. */
export type FieldChange = NullableOptions<Omit<Field, 'name'>> & { readonly newName?: string };

export class Definitions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All collections, unless the parameters say otherwise. */
  async list(parameters: DefinitionParameters = {}): Promise<readonly Collection[]> {
    return (await this.page(parameters)).data;
  }

  /** Collections with the metadata of the list: their number, and the cursor of the next page. */
  async page(parameters: DefinitionParameters = {}): Promise<List<Collection>> {
    const { data, meta } = await this.#transport.call<Collection[], ListMeta>('collections:list', {
      query: parameters,
    });
    return { data, meta };
  }

  async get(name: string): Promise<Collection> {
    return (await this.getWithEtag(name)).data;
  }

  /** A definition with its ETag, for an update that must not overwrite a concurrent change. */
  async getWithEtag(name: string): Promise<RecordWithEtag<Collection>> {
    const query = { filterByTk: name, appends: ['fields'] };
    const { data, etag } = await this.#transport.call<Collection>('collections:get', { query });
    return { data, etag };
  }

  /** The indexes that requests to this server lack, and those that they do not need; for one collection, or for all. */
  async indexAdvice(collection?: string): Promise<IndexAdvice> {
    const query = collection === undefined ? {} : { collectionName: collection };
    return (await this.#transport.call<IndexAdvice>('indexes:advice', { query })).data;
  }

  /** The revisions of the schema, for roles that may configure. */
  async revisions(): Promise<SchemaRevisions> {
    return (await this.#transport.call<SchemaRevisions>('schema:revisions')).data;
  }

  /** What a file looks like, and a definition for its records. Nothing is changed. */
  async importPreview(source: ImportSource, parameters: CollectionPreviewOptions = {}): Promise<CollectionPreview> {
    const request = { method: 'POST' as const, ...buildImportBody(source, parameters) };
    return (await this.#transport.call<CollectionPreview>('collections:importPreview', request)).data;
  }

  /** All fields of a collection, unless the parameters say otherwise. */
  async fields(collection: string, parameters: DefinitionParameters = {}): Promise<readonly Field[]> {
    const query = { ...parameters, collectionName: collection };
    return (await this.#transport.call<Field[]>('fields:list', { query })).data;
  }

  async field(collection: string, name: string): Promise<Field> {
    const path = `collections/${encodeURIComponent(collection)}/fields:get`;
    return (await this.#transport.call<Field>(path, { query: { filterByTk: name } })).data;
  }

  create(collection: NewCollection): Promise<Collection> {
    return this.#post('collections:create', {}, collection);
  }

  /** Creates missing and changes different collections and fields, in one transaction. */
  apply(collections: readonly NewCollection[]): Promise<readonly Collection[]> {
    return this.#post('collections:apply', {}, collections);
  }

  /**
   * `force` deletes the data of options that are switched off. Without it, such a change is refused as `DATA_WOULD_BE_LOST`.
   *
   * @param ifMatch the ETag of {@link getWithEtag}: if the definition has changed since, the update is refused as `VERSION_STALE`.
   */
  update(name: string, change: CollectionChange, force = false, ifMatch?: string | null): Promise<Collection> {
    return this.#post('collections:update', { filterByTk: name, ...(force && { force }) }, change, ifMatch);
  }

  /** `cascade` also destroys the relations of other collections to it. */
  destroy(name: string, cascade = false): Promise<number> {
    return this.#post('collections:destroy', { filterByTk: name, ...(cascade && { cascade }) });
  }

  /** What {@link destroy} would do, as a dry run. */
  previewDestroy(name: string, cascade = false): Promise<Impact> {
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

  previewDestroyField(collection: string, name: string): Promise<Impact> {
    return this.#post('fields:destroy', { dryRun: true }, { collectionName: collection, name });
  }

  async #post<T>(path: string, query: object, body?: unknown, ifMatch?: string | null): Promise<T> {
    const options = {
      method: 'POST' as const,
      query,
      ...(body !== undefined && { body }),
      ...(ifMatch && { ifMatch }),
    };
    return (await this.#transport.call<T>(path, options)).data;
  }
}
