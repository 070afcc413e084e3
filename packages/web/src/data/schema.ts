/**
 * The collections that the role may work with, and what it may do with them. `admin` may do all of it; for every other role
 * the document of the role (docs:openapi) tells, which holds what would be granted and nothing else.
 */
import type { Client, Collection, Field } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { checkOf, useAsked, useScope } from './queries.ts';
import { type DocumentPart, type Rights, readDocument } from './schema-of-document.ts';

export interface Schema extends Rights {
  /** As the role sees their records, by what people call them. */
  readonly collections: readonly Collection[];
  readonly byName: ReadonlyMap<string, Collection>;
  /** With the fields that the role may give and does not see: what forms ask for. */
  readonly forms: ReadonlyMap<string, Collection>;
  /** As they are defined, also what the role sees no records of; those it sees, where it may read no definitions. */
  readonly definitions: ReadonlyMap<string, Collection>;
  /** Whether definitions may be read. */
  readonly configures: boolean;
}

const everything: Rights = { may: () => true, mayWrite: () => true, mayLink: () => true };

export function useSchema(): UseQueryResult<Schema, Error> {
  const scope = useScope();
  return useAsked(['schema'], async (client) => readSchema(client, (await checkOf(scope)).currentRole), {
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
  return data?.may ?? nothing;
}

const nothing = (): boolean => false;

async function readSchema(client: Client, role: string): Promise<Schema> {
  if (role === 'admin') {
    const defined = await client.collections.list();
    return { ...everything, ...listed(defined), forms: named(defined), definitions: named(defined), configures: true };
  }
  const document = (await (await client.send('docs:openapi')).json()) as DocumentPart;
  const { collections, forms, rights } = readDocument(document);
  if (!rights.may('collections', 'list'))
    return {
      ...rights,
      ...listed(collections),
      forms: named(forms),
      definitions: named(collections),
      configures: false,
    };
  const defined = await client.collections.list();
  const seen = (by: ReadonlyMap<string, Collection>): Collection[] =>
    defined.map((each) => asSeen(each, by.get(each.name)));
  return {
    ...rights,
    ...listed(seen(named(collections))),
    forms: named(seen(named(forms))),
    definitions: named(defined),
    configures: true,
  };
}

/** A definition without the fields that the role does not see. */
function asSeen(defined: Collection, seen: Collection | undefined): Collection {
  if (!seen) return defined;
  const names = new Set(seen.fields.map((field) => field.name));
  return { ...defined, fields: defined.fields.filter((field) => names.has(field.name)) };
}

function listed(collections: readonly Collection[]): Pick<Schema, 'collections' | 'byName'> {
  const sorted = [...collections].sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
  return { collections: sorted, byName: named(sorted) };
}

function named(collections: readonly Collection[]): ReadonlyMap<string, Collection> {
  return new Map(collections.map((each) => [each.name, each]));
}

/** The member of a body that writes a field: a link is written by its foreign key. */
export function writtenName(field: Field): string {
  return field.type === 'belongsTo' ? (field.foreignKey ?? field.name) : field.name;
}

/** What people call it. */
export function titleOf({ title, name }: { readonly title?: string | null; readonly name: string }): string {
  return title || name;
}
