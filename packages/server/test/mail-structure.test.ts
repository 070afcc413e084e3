import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { mailRoleColumns } from '../src/database/mail/role-columns.ts';
import { mailCollections } from '../src/mail/collections/mail-collections.ts';
import { mailResources } from '../src/mail/collections/mail-resources.ts';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** The only folders that name mail collections. Other files use the traits of a collection, see schema/system-traits.ts. */
const mailFolders = /^(mail\/|database\/mail\/|http\/mail-actions\.ts$)/;

/** Other files that name a mail collection. The list may only shrink. */
const exceptions: Readonly<Record<string, string>> = {
  'cli-mail.ts': 'the command line is a client: it calls actions by their paths',
  'openapi/mail-campaign-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-compose-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-connect-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-contact-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-parameters.ts': 'texts of the OpenAPI document',
  'openapi/mail-push-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-rule-operations.ts': 'texts of the OpenAPI document',
  'openapi/mail-rule-schemas.ts': 'texts of the OpenAPI document',
  'openapi/mail-template-operations.ts': 'texts of the OpenAPI document',
  'protocol/error-catalogue.ts': 'texts of errors name the action that helps',
};

const names = mailCollections.map(({ name }) => name);
const requestable: readonly string[] = mailResources;
const anyName = names.join('|');
const internalNames = names.filter((name) => !requestable.includes(name)).join('|');

/** The ways to name a mail collection: quoted, as an unambiguous word, as a table, as an action, or as a key. */
const namings: readonly RegExp[] = [
  new RegExp(`(['"\`])(${anyName})\\1`),
  new RegExp(`\\b(${internalNames})\\b`),
  new RegExp(`\\b(FROM|JOIN|INTO|UPDATE|TABLE|ON)\\s+"?(${anyName})\\b`),
  new RegExp(`['"\`/](${anyName})[:.][a-zA-Z]`),
  /^\s*(emails|attachments|conversations|accounts|mailboxes): (new Set|\[|\{|[a-zA-Z]+Rules)/m,
];

/** The code of a file without comments, which may mention mail. */
function readCode(file: string): string {
  return readFileSync(join(source, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
}

function namesMail(file: string): boolean {
  const code = readCode(file);
  return namings.some((naming) => naming.test(code));
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
);

test('only the mail folders name a mail collection', () => {
  const found = files.filter((file) => !mailFolders.test(file) && namesMail(file));
  expect(found.sort()).toEqual(Object.keys(exceptions).sort());
});

test('the check finds names of mail collections', () => {
  expect(names).toContain('mailPlacements');
  for (const file of ['mail/collections/email-collections.ts', 'database/mail/email-rows.ts', 'http/mail-actions.ts'])
    expect(namesMail(file), file).toBe(true);
});

test('mail operations do not depend on HTTP', () => {
  const http = /\bstatus(Code)?: \d|\bheaders\b|'(content-type|if-match|idempotency-key|etag)'|fastify/i;
  expect(files.filter((file) => file.startsWith('mail/actions/') && http.test(readCode(file)))).toEqual([]);
});

test('the rename of a role updates every mail collection that stores names of roles', () => {
  const holders = mailCollections.filter(
    ({ name, fields }) => name !== 'mailboxes' && fields.some((field) => field.name === 'role'),
  );
  expect([...mailRoleColumns].sort((one, other) => (one.table < other.table ? -1 : 1))).toEqual(
    holders
      .map(({ name }) => ({ table: name, column: 'role' }))
      .sort((one, other) => (one.table < other.table ? -1 : 1)),
  );
});
