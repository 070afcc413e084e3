import { contentCollection, mailCollections } from './mail-collections.ts';

/** What signs an account in: given by these names, and never shown. */
export const accountSecrets: ReadonlySet<string> = new Set([
  'password',
  'smtpPassword',
  'refreshToken',
  'clientSecret',
]);

/** What a get of an e-mail shows as its own though it lies beside it. */
const exposedContentFields: ReadonlySet<string> = new Set(
  mailCollections
    .filter(({ name }) => name === contentCollection)
    .flatMap(({ fields }) => fields)
    .filter((field) => !field.hidden && !field.primaryKey && !field.target && field.name !== 'rawSha256')
    .map(({ name }) => name),
);

/** Whether a name stands for something else in bodies or replies of a collection, so that no field may be added under it. */
export function isReservedName(collection: string, name: string): boolean {
  if (collection === 'emails') return exposedContentFields.has(name);
  return collection === 'accounts' && accountSecrets.has(name);
}
