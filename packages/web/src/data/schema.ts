/**
 * The collections that the role may work with. Who may configure reads definitions; everybody else reads the document of
 * the own role (docs:openapi), which tells the same as far as the role may know it.
 */
import { type Client, type Collection, Failure } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useAsked } from './queries.ts';
import { collectionsOfDocument, type DocumentPart } from './schema-of-document.ts';

export interface Schema {
  readonly collections: readonly Collection[];
  readonly byName: ReadonlyMap<string, Collection>;
  /** Definitions may be read, and as a rule changed. */
  readonly configures: boolean;
  /** Whether the role may ask an action of a collection. */
  may(collection: string, action: string): boolean;
}

export function useSchema(): UseQueryResult<Schema, Error> {
  return useAsked(['schema'], readSchema, { staleTime: 30_000 });
}

/** One collection; undefined while the schema is read, null where there is none. */
export function useCollection(name: string): Collection | null | undefined {
  const { data } = useSchema();
  return data && (data.byName.get(name) ?? null);
}

async function readSchema(client: Client): Promise<Schema> {
  try {
    return schemaOf(await client.collections.list(), true, () => true);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'NO_PERMISSION') throw error;
    const document = (await (await client.send('docs:openapi')).json()) as DocumentPart;
    const { collections, actions } = collectionsOfDocument(document);
    return schemaOf(collections, false, (collection, action) => actions.has(`${collection}:${action}`));
  }
}

function schemaOf(collections: readonly Collection[], configures: boolean, may: Schema['may']): Schema {
  const sorted = [...collections].sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
  return { collections: sorted, byName: new Map(sorted.map((each) => [each.name, each])), configures, may };
}

/** What people call it. */
export function titleOf({ title, name }: { readonly title?: string | null; readonly name: string }): string {
  return title || name;
}
