/**
 * The collections and permissions of the current role. `admin` may do everything. For other roles they come from the
 * OpenAPI document of the role (docs:openapi), which contains only what the role is granted.
 */
import type { Client, Collection } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { getTitle } from './field-names.ts';
import { fetchCheck, useApiQuery, useScope } from './queries.ts';
import { type DocumentPart, parseRoleDocument, type Rights } from './role-document.ts';

export interface Schema extends Rights {
  /** The collections whose records the role can read, sorted by title. */
  readonly collections: readonly Collection[];
  readonly byName: ReadonlyMap<string, Collection>;
  /** The collections with the fields of forms, including those that the role can write but not read. */
  readonly forms: ReadonlyMap<string, Collection>;
  /** The definitions of all collections; if the role may not read definitions, the collections that it can read. */
  readonly definitions: ReadonlyMap<string, Collection>;
  /** Whether the role may read definitions. */
  readonly mayReadDefinitions: boolean;
}

const allRights: Rights = { may: () => true, mayWrite: () => true, mayLink: () => true };

export function useSchema(): UseQueryResult<Schema, Error> {
  const scope = useScope();
  return useApiQuery(['schema'], async (client) => readSchema(client, (await fetchCheck(scope)).currentRole), {
    staleTime: 30_000,
  });
}

/** One collection; undefined while the schema is loading, null if it does not exist. */
export function useCollection(name: string): Collection | null | undefined {
  const { data } = useSchema();
  return data && (data.byName.get(name) ?? null);
}

/** Whether the role allows an action; false while that is not known. */
export function useMay(): Rights['may'] {
  const { data } = useSchema();
  return data?.may ?? denyAll;
}

const denyAll = (): boolean => false;

async function readSchema(client: Client, role: string): Promise<Schema> {
  if (role === 'admin') {
    const defined = await client.collections.list();
    return {
      ...allRights,
      ...sortByTitle(defined),
      forms: indexByName(defined),
      definitions: indexByName(defined),
      mayReadDefinitions: true,
    };
  }
  const document = (await (await client.send('docs:openapi')).json()) as DocumentPart;
  const { collections, forms, rights } = parseRoleDocument(document);
  if (!rights.may('collections', 'list'))
    return {
      ...rights,
      ...sortByTitle(collections),
      forms: indexByName(forms),
      definitions: indexByName(collections),
      mayReadDefinitions: false,
    };
  const defined = await client.collections.list();
  const restrictAll = (visible: ReadonlyMap<string, Collection>): Collection[] =>
    defined.map((each) => restrictToVisible(each, visible.get(each.name)));
  return {
    ...rights,
    ...sortByTitle(restrictAll(indexByName(collections))),
    forms: indexByName(restrictAll(indexByName(forms))),
    definitions: indexByName(defined),
    mayReadDefinitions: true,
  };
}

/** A definition without the fields that the role cannot read. */
function restrictToVisible(defined: Collection, visible: Collection | undefined): Collection {
  if (!visible) return defined;
  const names = new Set(visible.fields.map((field) => field.name));
  return { ...defined, fields: defined.fields.filter((field) => names.has(field.name)) };
}

function sortByTitle(collections: readonly Collection[]): Pick<Schema, 'collections' | 'byName'> {
  const sorted = [...collections].sort((a, b) => getTitle(a).localeCompare(getTitle(b)));
  return { collections: sorted, byName: indexByName(sorted) };
}

function indexByName(collections: readonly Collection[]): ReadonlyMap<string, Collection> {
  return new Map(collections.map((each) => [each.name, each]));
}
