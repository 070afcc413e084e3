import { type CollectionModel, findRelation, isMany, type Row, splitPath } from './model.ts';
import type { ListRequest } from './requests.ts';
import { compareNullable } from './values.ts';
import type { Grant, Visibility } from './visibility.ts';

type Names = Pick<ListRequest, 'fields' | 'except' | 'appends'>;

/** A record as it is shown: the fields that are chosen and permitted, with its appended relations. */
export function presentRow(row: Row, names: Names, collection: CollectionModel, grant: Grant, sight: Visibility): Row {
  const shown: Record<string, unknown> = {};
  const chosen = here(names.fields);
  for (const { name } of collection.fields) {
    const wanted = chosen === null ? grant.may(name) : chosen.includes(name);
    if (wanted && !names.except.includes(name) && grant.may(name)) shown[name] = row[name] ?? null;
  }
  for (const name of appended(names, collection)) shown[name] = presentRelated(name, row, names, collection, sight);
  return shown;
}

/** The field names of this level, or null if there are none: then all fields are selected. */
function here(fields: readonly string[] | null): string[] | null {
  const own = fields?.filter((path) => !path.includes('.')) ?? [];
  return own.length > 0 ? own : null;
}

function appended({ fields, except, appends }: Names, collection: CollectionModel): Set<string> {
  const first = [...(fields ?? []), ...appends].map((path) => splitPath(path)[0]);
  return new Set(first.filter((name) => findRelation(collection, name) && !except.includes(name)));
}

function presentRelated(name: string, row: Row, names: Names, collection: CollectionModel, sight: Visibility): unknown {
  const relation = findRelation(collection, name)!;
  const target = sight.collection(relation.target);
  const below = {
    fields: names.fields && under(name, names.fields),
    except: under(name, names.except),
    appends: under(name, names.appends),
  };
  const shown = sight
    .related(collection, row, relation)
    .toSorted((a, b) => compareNullable(keyType(target), a[target.key], b[target.key], false))
    .map((each) => presentRow(each, below, target, sight.targetGrant(relation)!, sight));
  return isMany(relation) ? shown : (shown[0] ?? null);
}

function keyType({ fields, key }: CollectionModel) {
  return fields.find(({ name }) => name === key)!.type;
}

function under(name: string, paths: readonly string[]): string[] {
  return paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));
}
