/** Compares the client with the OpenAPI document. Operations without a client method are listed here. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { Client } from '../src/client.ts';

interface Operation {
  readonly parameters?: readonly { readonly name?: string; readonly in?: string; readonly $ref?: string }[];
  readonly requestBody?: object;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, { readonly name: string; readonly in: string }>>;
  };
}
interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly body: boolean;
}

let server: TestServer;
let document: Document;
beforeAll(async () => {
  server = await TestServer.start(sqlite);
  await server.data('POST /api/collections:apply', {
    body: [
      {
        name: 'posts',
        fields: [
          { name: 'place', type: 'sort' },
          { name: 'tags', type: 'belongsToMany', target: 'tags' },
        ],
        options: { paranoid: true, logging: true },
      },
      { name: 'tags', fields: [{ name: 'post', type: 'belongsTo', target: 'posts' }] },
    ],
  });
  document = (await new Client({ url: server.running.url, token: server.tokens.get('admin')! }).document()) as never;
});
afterAll(() => server.stop());

/** Operations without a method: `Realtime` uses a socket, and the nested paths of `fields:` are redundant. */
const otherOperations = new Set([
  'GET realtime',
  'GET files/{key}', // files.bytes
  'POST applications:receive', // tablinum move
  'GET collections/{collection}/fields:list',
  ...['create', 'update', 'destroy'].map((action) => `POST collections/{collection}/fields:${action}`),
]);
/** Paths of the plain style repeat the actions. */
const isPlainPath = (path: string): boolean =>
  /^\/api\/(emails|conversations|attachments|accounts|mailboxes|mailRules|mailCampaigns|mailCampaignMessages|mailSuppressions|mailTemplates|conversationNotes|mailNotifications|mailSavedSearches|contacts|contactGroups|mailPushSubscriptions)(\/\{key\})?$/.test(
    path,
  );

/** Calls every client method once. Each request is recorded and gets an empty reply. */
async function callEveryMethod(
  resources: readonly string[],
  relations: readonly (readonly [string, string])[],
): Promise<RecordedRequest[]> {
  const requests: RecordedRequest[] = [];
  const recordingFetch: typeof fetch = async (url, init) => {
    const { pathname, searchParams } = new URL(String(url));
    const path = pathname
      .replace('/api/', '')
      .replace(/\/7\//, '/{key}/')
      .replace('collections/posts/', 'collections/{collection}/');
    requests.push({
      method: init?.method ?? 'GET',
      path,
      query: [...searchParams.keys()],
      body: init?.body !== undefined,
    });
    return Response.json({ data: {}, meta: { nextCursor: null } });
  };
  const client = new Client({ url: 'http://127.0.0.1', token: 'x', fetch: recordingFetch });
  const { auth, collections, apiKeys, webhooks, permissions, audit, emails, mailAccounts, mailRules, mailCampaigns } =
    client;
  const password = 'a quiet password';
  const blob = new Blob(['x']);
  await Promise.all([
    client.health(),
    client.document(),
    client.batch([]),
    client.events({ resource: 'posts', since: 'c', wait: 1, pageSize: 5 }),
    client.publish('campaign.sent', {}),
    auth.signIn({ account: 'a', password }),
    auth.signUp({ email: 'a', password }),
    auth.signOut(),
    auth.keep(true),
    auth.resume(),
    auth.check(),
    auth.sessions(),
    auth.endSession(1),
    auth.endOtherSessions(),
    auth.changePassword({ oldPassword: password, newPassword: password }),
    auth.lostPassword('a'),
    auth.resetPassword({ token: 't', password }),
    auth.setup({ token: 't', email: 'a', password }),
    collections.list(),
    collections.get('posts'),
    collections.indexAdvice('posts'),
    collections.importPreview({ file: 1 }),
    collections.create({ name: 'x' }),
    collections.apply([]),
    collections.update('posts', {}),
    collections.destroy('posts', true),
    collections.previewDestroy('posts'),
    collections.fields('posts'),
    collections.field('posts', 'id'),
    collections.createField('posts', { name: 'x', type: 'string' }),
    collections.updateField('posts', 'x', {}),
    collections.destroyField('posts', 'x'),
    collections.previewDestroyField('posts', 'x'),
    client.applications().list(),
    client.applications().get('shop', { appends: ['errorLog'] }),
    client.applications().create({ name: 'shop' }),
    client.applications().update('shop', { displayName: 'Shop' }),
    client.applications().start('shop'),
    client.applications().stop('shop'),
    client.applications().nodes(),
    client.applications().move('shop', 'worker2:5432'),
    client.applications().enter('shop'),
    client.applications().destroy('shop', 'shop'),
    client.schema().pull(),
    client.schema().diff({ to: null }),
    client.schema().apply({ schema: { format: 1 } }),
    client.schema().rollback(),
    client.collections.revisions(),
    client.call('serverActivity:get'),
    client.backups().list(),
    client.backups().get('b1'),
    client.backups().create('shop'),
    client.backups().download('b1'),
    client.backups().sign('b1'),
    client.backups().restore('b1', { confirm: 'shop' }),
    client.backups().destroy('b1'),
    apiKeys.issue({ role: 'viewer' }),
    apiKeys.rotate(1),
    apiKeys.stats(1),
    webhooks.test(1),
    webhooks.replay(1, [2]),
    permissions.explain({ role: 'viewer', resource: 'posts', action: 'list', filterByTk: 1, user: 1 }),
    audit.verify(),
    audit.list(),
    audit.get(1),
    audit.query({}),
    emails.saveDraft({ account: 1 }),
    emails.attach(1, { filename: 'a', contentType: 'text/plain', content: blob }),
    emails.send({ id: 1 }),
    emails.reply(1),
    emails.replyAll(1),
    emails.forward(1),
    emails.cancelSend(1),
    emails.retrySend(1),
    mailAccounts.discover('ann@example.com'),
    mailAccounts.test(1),
    mailAccounts.sync(1),
    mailAccounts.waiting(1),
    mailAccounts.members(1),
    mailAccounts.authorize(1),
    mailAccounts.finishAuthorization({ state: 's', code: 'c' }),
    mailAccounts.verifyAlias(1, 'sales@example.com'),
    mailAccounts.confirmAlias(1, { address: 'sales@example.com', code: '12345678' }),
    mailRules.try({ id: 1 }),
    mailRules.apply({ id: 1 }),
    client.mailTemplates.fill({ id: 1 }),
    client.contacts.merge({ id: 1, others: [2] }),
    client.mailPushSubscriptions.key(),
    client.mailPushSubscriptions.subscribe({ endpoint: 'https://push.example.com/1', keys: { p256dh: '', auth: '' } }),
    client.mailPushSubscriptions.unsubscribe('https://push.example.com/1'),
    mailCampaigns.preview({ id: 1 }),
    mailCampaigns.test(1, 'ann@example.com'),
    mailCampaigns.start(1),
    mailCampaigns.schedule(1, '2026-12-01T08:00:00Z'),
    mailCampaigns.pause(1),
    mailCampaigns.resume(1),
    mailCampaigns.cancel(1),
    emails.moveTo([1], 'archive'),
    emails.flag([1], { read: true }),
    emails.import({ account: 1, mailbox: 'INBOX' }, blob),
    emails.unsubscribe(1),
    emails.rethread(1),
    emails.raw(1),
    emails.image(1, 'https://example.com/a.png'),
    emails.export({ account: 1, mailbox: 'INBOX' }),
    emails.storeMbox({ account: 1, mailbox: 'INBOX' }),
    emails.file(1),
    emails.thread(1),
    client.settings().get(),
    client.settings().update({}),
    client.imports.cancel(1),
    client.imports.refusedRows(1),
    client.files.upload([{ name: 'a.txt', content: blob }]),
    client.files.bytes(1),
    client.files.sign(1, 60),
  ]);
  for (const resource of resources) {
    const records = client.records(resource);
    await Promise.all([
      records.list({ filter: {}, sort: ['id'], pageSize: 5, count: 'none', versions: true }),
      records.get(1, { appends: [] }),
      records.create({}),
      records.createMany([]),
      records.update(1, {}, {}, { ifMatch: 1 }),
      records.updateMany({ filter: { id: 1 } }, {}),
      records.destroy({ filterByTk: [1] }),
      records.firstOrCreate({}, ['id']),
      records.updateOrCreate({}, ['id']),
      records.restore(1),
      records.query({}),
      // E-mails have move, export and import actions of their own.
      ...(resource === 'emails'
        ? []
        : [
            records.move({ sourceId: 1 }),
            records.exportFile({ format: 'xlsx', bom: true }),
            records.storeExport({ format: 'csv' }),
            records.importFile({ file: 1 }, { mode: 'upsert', matchFields: ['id'] }),
            records.importPreview({ file: 1 }, { sheet: 0 }),
          ]),
      records.history(1),
      records.revert(1, 1),
    ]);
  }
  for (const [resource, name] of relations) {
    const related = client.records(resource).relation(7, name);
    const links = [related.set([1]), related.add([1]), related.remove([1]), related.toggle([1])];
    await Promise.all([
      ...links,
      related.list(),
      related.get(1),
      related.create({}),
      related.update(1, {}),
      related.destroy(1),
    ]);
  }
  return requests;
}

test('every documented action has a client method, and the method sends only documented parameters', async () => {
  const paths = Object.entries(document.paths).filter(([path]) => !isPlainPath(path));
  const named = (pattern: RegExp): RegExpExecArray[] =>
    paths.map(([path]) => pattern.exec(path)).filter((match) => match !== null);
  const resources = [...new Set(named(/^\/api\/(\w+):(?:list|get|create|update)$/).map((match) => match[1]!))];
  const relations = named(/^\/api\/(\w+)\/\{key\}\/(\w+):get$/).map((match) => [match[1]!, match[2]!] as const);
  const ownResources = resources.filter(
    (name) =>
      ![
        'auth',
        'docs',
        'changes',
        'collections',
        'applications',
        'backups',
        'fields',
        'audit',
        'serverActivity',
        'systemSettings',
      ].includes(name),
  );
  const requests = await callEveryMethod(ownResources, relations);
  const operations = new Map(
    paths.flatMap(([path, methods]) =>
      ['get', 'post', 'patch', 'delete'].flatMap((method) =>
        methods[method] ? [[`${method.toUpperCase()} ${path.replace('/api/', '')}`, methods[method]] as const] : [],
      ),
    ),
  );
  const called = new Set(requests.map(({ method, path }) => `${method} ${path}`));
  expect([...operations.keys()].filter((each) => !called.has(each) && !otherOperations.has(each)).sort()).toEqual([]);
  const unknownParameters = requests.flatMap(({ method, path, query, body }) => {
    const operation = operations.get(`${method} ${path}`);
    if (!operation) return [];
    const known = (operation.parameters ?? []).map((each) =>
      each.$ref ? document.components.parameters[each.$ref.split('/').at(-1)!]!.name : each.name,
    );
    const unknown = query.filter((name) => !known.includes(name));
    return unknown.length > 0 || (body && !operation.requestBody) ? [`${method} ${path}: ${unknown.join()}`] : [];
  });
  expect(unknownParameters).toEqual([]);
});
