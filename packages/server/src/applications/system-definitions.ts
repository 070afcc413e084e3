/** The system collections of an application: those of every application, and those of mail, each with its rules. */
import type { IndexedSystemCollection } from '../collections/system-indexes.ts';
import { mailCollections, mailRelations } from '../mail/collections/mail-collections.ts';
import { systemRules } from '../records/system/system-rules.ts';
import { coreCollections, coreRelations, type SystemRelation } from '../schema/system-collections.ts';
import type { SystemTraits } from '../schema/system-traits.ts';

/** In the order in which they are created: a collection comes after those that it refers to. */
export const systemCollections: readonly IndexedSystemCollection[] = [
  ...coreCollections.map((collection) => {
    const rules = systemRules[collection.name];
    return rules ? { ...collection, rules } : collection;
  }),
  ...mailCollections,
];

/** Relations that need both collections to exist first. */
export const systemRelations: readonly SystemRelation[] = [...coreRelations, ...mailRelations];

/** The special properties of each of them, by its name. The registry assigns them to its collections. */
export const systemTraits: ReadonlyMap<string, SystemTraits> = new Map(
  systemCollections.map((collection) => [collection.name, collection]),
);

/** Every trait except the rules, which are functions for writes. */
const plainTraits: Readonly<Record<Exclude<keyof SystemTraits, 'rules'>, true>> = {
  visibility: true,
  visibleWith: true,
  hiddenWhile: true,
  importedOnly: true,
  reservedNames: true,
  readableWith: true,
  deniedWith: true,
  fullText: true,
  hasUnauditedCascades: true,
  notices: true,
  eventPrefix: true,
  builtInPermissions: true,
};

/** The traits that reads need, as plain data that can be sent to another thread. */
export const readTraits: ReadonlyMap<string, SystemTraits> = new Map(
  systemCollections.map((collection) => [
    collection.name,
    Object.fromEntries(Object.entries(collection).filter(([member]) => member in plainTraits)),
  ]),
);
