/**
 * The collections that the role may work with, and what it may do with them. `admin` may do all of it; for every other role
 * the document of the role (docs:openapi) tells, which holds what would be granted and nothing else.
 */
import type { Client, Collection, Field } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { fetchCheck, useApiQuery, useScope } from './queries.ts';
import { type DocumentPart, parseRoleDocument, type Rights } from './role-document.ts';

export interface Schema extends Rights {
  /** As the role sees their records, by what people call them. */
  readonly collections: readonly Collection[];
  readonly byName: ReadonlyMap<string, Collection>;
  /** With the fields that the role may give and does not see: what forms ask for. */
  readonly forms: ReadonlyMap<string, Collection>;
  /** As they are defined, also what the role sees no records of; those it sees, where it may read no definitions. */
  readonly definitions: ReadonlyMap<string, Collection>;
  /** Whether definitions may be read. */
  readonly mayReadDefinitions: boolean;
}

const allRights: Rights = { may: () => true, mayWrite: () => true, mayLink: () => true };

export function useSchema(): UseQueryResult<Schema, Error> {
  const scope = useScope();
  return useApiQuery(['schema'], async (client) => readSchema(client, (await fetchCheck(scope)).currentRole), {
    staleTime: 30_000,
  });
}

/** One collection; undefined while the schema is read, null where there is none. */
export function useCollection(name: string): Collection | null | undefined {
  const { data } = useSchema();
  return data && (data.byName.get(name) ?? null);
}

/** Whether the role may do something; nothing while that is not known. */
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

/** A definition without the fields that the role does not see. */
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

/** The member of a body that writes a field: a link is written by its foreign key. */
export function getWriteName(field: Field): string {
  return field.type === 'belongsTo' ? (field.foreignKey ?? field.name) : field.name;
}

/** What people call it. */
export function getTitle({ title, name }: { readonly title?: string | null; readonly name: string }): string {
  return title || name;
}
