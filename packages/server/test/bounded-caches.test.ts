import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/**
 * Every collection that outlives a request must have a bound. Each map, set and list that is filled in a module, an
 * instance or a returned closure is listed here with its bound, except those that are only filled once, from constants.
 *
 * An `LruMap` has its bounds in its constructor: entries, bytes and the length of keys.
 */
const bounded: Readonly<Record<string, string>> = {
  'access/grants.ts cache': 'LruMap',
  'applications/backups/backups.ts #found': 'backups in the folder',
  'applications/moves/received-moves.ts #sessions': 'applications that exist; closed after 20 seconds without a step',
  'applications/open-applications.ts #failures': 'applications that exist',
  'applications/open-applications.ts #transitions': 'applications that exist',
  'applications/open-applications.ts #slots': 'applications that exist',
  'applications/open-applications.ts #lastSweep': 'applications that exist',
  'applications/snapshot.ts #grants': 'roles that exist, until the next change of permissions',
  'applications/stored-settings.ts #unreadable': 'settings that exist',
  'backup-work.ts scratchFolders': 'folders in use by one command or task',
  'base/bounded-queue.ts #waiting': 'the bound of its constructor',
  'base/concurrency-limiter.ts #taken': 'names in use now',
  'base/dns-resolver.ts #cache': 'LruMap',
  'base/dns-resolver.ts #running': '256 lookups under way',
  'base/lru-map.ts #old': 'half the bounds of its constructor',
  'base/lru-map.ts #young': 'half the bounds of its constructor',
  'base/outbound-address.ts #hosts': 'the entries of a setting',
  'base/outbound-address.ts #ranges': 'the entries of a setting',
  'base/runtime-settings.ts #listeners': 'parts of this server, which register at the start',
  'base/s3-upload.ts #etags': 'lives as long as an upload, and has at most 10,000 parts',
  'base/s3-upload.ts #pieces': 'lives as long as an upload, and has at most one part',
  'base/text-spool.ts #pieces': '256 KiB, which are then written to a file',
  'base/tracing/statement-shape.ts shapes': 'LruMap',
  'base/server-health.ts #problems': 'parts of this server and applications that exist',
  'changes/change-log.ts #eventInserts': 'LruMap',
  'changes/change-log.ts #listeners': 'parts of this server',
  'cli-mail.ts #problems': 'a command of its own: maxReportedProblems',
  'cli-mail.ts #open': 'a command of its own: messages of at most waitingBytes',
  'collections/definition-lists.ts names': 'lives as long as a request',
  'collections/field-values.ts #first': 'lives as long as a request',
  'collections/resolution-draft.ts #existingForeignKeys': 'lives as long as a request',
  'collections/resolution-draft.ts #referencedKeys': 'lives as long as a request',
  'collections/resolution-draft.ts #foreignFields': 'lives as long as a request',
  'collections/resolution-draft.ts #joins': 'lives as long as a request',
  'collections/resolution-draft.ts #fields': 'lives as long as a request',
  'database/postgres/connection-budget.ts #waiting': 'requests under way',
  'database/postgres/postgres-database.ts #runs': 'LruMap',
  'database/postgres/named-locks.ts #names': 'work under way',
  'database/postgres/prepared-query.ts #rows': 'the rows of one result',
  'database/postgres/shared-connections.ts all': 'a WeakMap',
  'database/postgres/shared-connections.ts #pools': 'applications that are open',
  'database/postgres/shared-connections.ts #waiting': 'applications that are open',
  'database/postgres/shared-connections.ts #idle': 'DATABASE_CONNECTIONS',
  'database/postgres/shared-connections.ts #connections': 'DATABASE_CONNECTIONS',
  'database/postgres/shared-connections.ts #opening': 'DATABASE_CONNECTIONS',
  'database/postgres/postgres-server-group.ts #ended': 'a WeakSet',
  'database/postgres/postgres-server-group.ts #held': 'the stores that are open, and one restore',
  'database/postgres/schema-locations.ts #budgets': 'nodes of a cluster',
  'database/sqlite/backup-folder.ts databases': 'lives as long as a backup',
  'database/sqlite/durability.ts #waiting': 'commits under way',
  'database/sqlite/reader-database.ts #long': 'LruMap',
  'database/sqlite/sqlite-connection.ts #statements': 'LruMap',
  'database/sqlite/sqlite-database.ts #counters': 'tables of the store',
  'database/sqlite/sqlite-database.ts #long': 'LruMap',
  'database/sqlite/sqlite-database.ts #underWay': 'work under way',
  'database/sqlite/sqlite-transactions.ts durableWork': 'lives as long as a transaction',
  'database/sqlite/sqlite-transactions.ts touched': 'lives as long as a transaction',
  'database/sqlite/worker-thread.ts #all': 'threads of the pool',
  'database/sqlite/worker-thread.ts #idle': 'threads of the pool',
  'database/sqlite/worker-thread.ts #queue': 'requests under way, for 5 seconds each; their bodies have a budget',
  'extensions/event-manager.ts #running': 'work under way',
  'http/shared-window.ts #hashed': 'LruMap',
  'http/connections.ts #open': 'connections that are open',
  'http/connections.ts #unread': 'connections that are open',
  'http/auth-actions.ts applicationsWithUsers': 'applications that are open',
  'http/docs-page/docs-page.ts assetCache': 'the files of the page',
  'http/event-stream.ts #texts': 'what Connection.room lets a slow reader have',
  'http/fixed-window.ts #windows': 'its capacity; keys are networks, ids, and account names of at most 320 characters',
  'http/http-server.ts #routes': 'LruMap',
  'http/idempotency.ts lastSweepTime': 'applications that exist',
  'http/idempotency.ts runningKeys': 'requests under way; keys of at most 255 characters',
  'readers/reader-answers.ts #routes': 'LruMap',
  'readers/write-receiver.ts #outcomes': 'requests under way of a reader',
  'readers/write-sender.ts #batch': 'requests under way',
  'readers/write-sender.ts #waiting': 'requests under way',
  'readers/hand-over.ts #agents': 'connections that are open',
  'readers/reader-handle.ts #closing': 'applications that are being closed',
  'readers/reader-pool.ts #connections': 'threads of the pool',
  'readers/reader-pool.ts #handles': 'threads of the pool',
  'readers/reader-pool.ts #shared': 'applications that are open',
  'readers/reader-pool.ts #timers': 'threads of the pool',
  'readers/reader-thread.ts #applications': 'applications that are open',
  'readers/reader-thread.ts #wanted': 'requests of 250 milliseconds; names of at most 100 characters',
  'http/open-connections.ts #ofName': 'connections that are open',
  'http/rate-limits.ts #known': 'LruMap',
  'http/realtime-sockets.ts #open': 'connections that are open',
  'http/realtime-sockets.ts upgrades': 'requests under way',
  'http/replies.ts refusedLater': 'connections that are open',
  'http/large-bodies.ts #waiting': '200 requests, for 5 seconds each',
  'http/request-body.ts #start': 'lives as long as a request',
  'http/request-head.ts zones': 'LruMap',
  'http/request-reader.ts requests': 'LruMap',
  'http/slow-requests.ts recentShapes': '200 shapes of at most 1,000 characters',
  'http/web/web-interface.ts #kept': 'the files of the build',
  'identity/authenticator.ts #callers': 'LruMap',
  'identity/authenticator.ts #usedKeys': 'keys that exist, used in the last minute',
  'identity/authenticator.ts #usedLogins': 'logins that exist, used in the last minute',
  'journal/key-use.ts #usages': 'keys that exist, used since the last flush; 50 endpoints each',
  'journal/refusals.ts #counts': '200 refusals, and one for each error code',
  'mail/campaigns/campaign-preview.ts #leftOut': 'one entry for each reason',
  'mail/campaigns/campaign-preview.ts #seen':
    'addresses of at most campaignLimits.previewRecords records; lives as long as a preview',
  'mail/automation/match-rule.ts #headers': 'header names in the rules of an account; lives as long as a comparison',
  'mail/authenticity/account-knowledge.ts #accounts': '100 accounts; lives as long as a run of the checks',
  'mail/authenticity/learn-authserv-ids.ts #learned': 'LruMap',
  'mail/connect/discovery/discover-settings.ts #exchangers':
    'mail exchangers of one domain; lives as long as a request',
  'mail/connect/discovery/discover-settings.ts #tried': 'discoveryLimits.candidates; lives as long as a request',
  'mail/connect/oauth-server.ts #endpoints': 'LruMap',
  'base/file-blobs.ts #folders': 'LruMap',
  'files/upload-files.ts #pieces': 'pictureHeadBytes and a piece; lives as long as an upload',
  'files/thumbnail-pool.ts #idle': 'limits.thumbnailProcesses',
  'files/thumbnail-pool.ts #processes': 'limits.thumbnailProcesses',
  'files/thumbnail-pool.ts #waiting': 'limits.thumbnailRequests',
  'files/thumbnails.ts #making': 'requests under way',
  'files/multipart.ts #open': 'limits.uploadParts; lives as long as an upload',
  'mail/demo/demo-mail.ts messages': 'lives as long as the making of demo mail',
  'mail/parse/charset.ts decoders': 'charsets that the runtime and iconv-lite know',
  'mail/parse/mail-body.ts attachments': 'lives as long as the parsing of a message',
  'mail/parse/mail-body.ts texts': 'lives as long as the parsing of a message',
  'mail/search/word-stems.ts stemCache': 'LruMap',
  'mail/parse/parse-pool.ts #workers': 'threads of the pool',
  'mail/parse/parse-pool.ts #idle': 'threads of the pool',
  'mail/parse/parse-pool.ts #started': 'threads of the pool',
  'mail/parse/parse-pool.ts #waiting': 'messages of imports under way, 16 MiB of each',
  'mail/search/mail-list-request.ts #conditions': 'lives as long as a request',
  'mail/search/mail-list-request.ts folders': 'lives as long as a request',
  'mail/search/mail-list-request.ts #terms': 'lives as long as a request',
  'mail/store/import-mail.ts #found': 'lives as long as an import: mailboxes of the account',
  'mail/store/import-mail.ts #ids': '1,000 ids',
  'mail/store/import-mail.ts #numbers': 'messages of a batch',
  'mail/store/import-mail.ts #problems': '100 problems',
  'mail/store/rebuild-conversations.ts #changed': 'lives as long as a rethread',
  'mail/store/rebuild-conversations.ts #conversations': 'lives as long as a rethread',
  'mail/store/rebuild-conversations.ts #pendingMoves': 'lives as long as a rethread',
  'mail/sync/account-sync.ts #states': 'mailboxes of an account',
  'mail/sync/body-fetcher.ts #running': 'requests that wait for the body of an e-mail',
  'mail/sync/byte-budget.ts #waiting': 'accounts that are synchronised: each waits for one batch',
  'mail/sync/connection-slots.ts #openByHost': 'connections that are open',
  'mail/sync/connection-slots.ts #waiting': 'accounts that this server has the lease of',
  'mail/sync/mail-sync.ts #runners': 'accounts that this server has the lease of',
  'mail/sync/running-bodies.ts #running': 'fetches under way: one batch for each account, and 8 readers',
  'mail/threads/conversation-groups.ts #parents': 'lives as long as a rethread',
  'mail/threads/participants.ts #others': '50 people',
  'mail/threads/participants.ts #writers': '50 people',
  'mail/threads/party-timeline.ts #strong': 'messages of thirty days, while a rethread looks through them',
  'mail/threads/party-timeline.ts #weak': 'messages of thirty days, while a rethread looks through them',
  'mail/threads/group-rebuild.ts #conversations': 'lives as long as a rethread',
  'mail/threads/group-rebuild.ts #ids': 'lives as long as a rethread',
  'mail/threads/group-rebuild.ts #keys': 'lives as long as a rethread',
  'mail/threads/disjoint-sets.ts #parents': 'lives as long as a rethread',
  'mail/threads/group-rebuild.ts #timelines': 'lives as long as a rethread',
  'transfer/import/import-jobs.ts #running': 'limits.imports',
  'transfer/import/write-rows.ts #updates': 'rows of a transaction',
  'transfer/import/write-rows.ts #accepted': 'rows of a transaction',
  'transfer/import/write-rows.ts #refused': 'rows of a transaction',
  'transfer/move/remote-target.ts #ranges': 'about 4 MB; lives as long as a move',
  'transfer/move/remote-target.ts #small': 'about 4 MB; lives as long as a move',
  'transfer/move/sync-table.ts #added': 'about 1,000 rows or 2 MB; lives as long as a move',
  'transfer/move/sync-table.ts #batch': 'about 2 MB; lives as long as a move',
  'transfer/move/sync-table.ts #removed': 'about 1,000 rows or 2 MB; lives as long as a move',
  'transfer/read/column-profile.ts distinct': 'choices of a select field; lives as long as the types are derived',
  'transfer/read/column-profile.ts samples': 'samples of a column; lives as long as the types are derived',
  'transfer/read/csv-rows.ts #cells': 'sourceLimits.columns',
  'transfer/read/csv-rows.ts #rows': 'sourceLimits.batchRows',
  'transfer/read/detect-charset.ts #parts': '64 KiB, and the rest of a line',
  'transfer/read/json-records.ts #found': 'records of a piece of the file',
  'transfer/read/text-table.ts #pages': 'maxBytes of its texts',
  'transfer/read/xlsx-rows.ts #cells': 'sourceLimits.columns',
  'transfer/read/xlsx-rows.ts #rows': 'sourceLimits.batchRows',
  'openapi/document-cache.ts #documents': 'bytes of its constructor',
  'openapi/error-responses.ts cachedRefs': 'kinds of actions',
  'openapi/field-schema.ts cachedSchemas': 'fields of the registries in memory',
  'protocol/exact-json.ts orderedObjects': 'bodies in memory',
  'realtime/connection-presence.ts #views': 'limits.presences',
  'realtime/connection.ts #lengths': '100 subscriptions',
  'realtime/connection.ts #subscriptions': '100 subscriptions, whose filters have 128 KiB in all',
  'realtime/event-visibility.ts #entries': 'lives as long as a page of events',
  'realtime/feed.ts #readers': 'connections that are open',
  'realtime/feed.ts feeds': 'applications that are open',
  'realtime/presence.ts #views': 'one for each view of an open connection, see limits.presences',
  'realtime/presence.ts boards': 'a WeakMap',
  'realtime/subscription.ts #knownRecords':
    '10,000 records, 50,000 for each connection; keys of at most 100 characters',
  'records/write/batch-references.ts #results': 'lives as long as a request',
  'records/write/cascade.ts parts': 'lives as long as a request',
  'records/read/read-records.ts fingerprints': 'requests in memory: see http/request-reader.ts',
  'records/write/references.ts referenceCache': 'registries in memory',
  'schema/field-types.ts #addedForms': 'types that extensions add',
  'schema/field-types.ts #byName': 'built-in types, and types that extensions add',
  'mail/store/mailbox-counts.ts changes': 'lives as long as a transaction',
  'mail/store/message-linking.ts #localChanges': 'e-mails of a batch; lives as long as a transaction',
  'mail/store/message-linking.ts #placed': 'e-mails of a batch; lives as long as a transaction',
  'mail/store/message-linking.ts #serverChanges': 'e-mails of a batch; lives as long as a transaction',
  'mail/store/operation-queue.ts #added': 'operations of a transaction',
  'mail/store/operation-queue.ts #changed': 'operations of a transaction',
  'mail/store/operation-queue.ts #removed': 'operations of a transaction',
  'records/hashed-secrets.ts #given': 'lives as long as a request',
  'schema/registry.ts columnFields': 'collections of the registries in memory',
  'schema/value-schema.ts checks': 'collections of the registries in memory',
  'mail/delivery/mail-delivery.ts #running': 'eight accounts at a time',
  'webhooks/outbox.ts #queuedSinceCount': 'webhooks that exist',
  'transfer/xlsx-writer.ts #pending': 'the records of one piece of a stream',
  'webhooks/delivery-outcomes.ts #outcomes': 'deliveries under way',
  'webhooks/delivery-sender.ts #retryAfterUntil': 'webhooks that exist',
  'webhooks/delivery-sender.ts #sending': 'deliveries under way',
  'database/visited-rows.ts visited': 'results under way: weak keys',
  'database/postgres/postgres-access.ts tables': 'lives as long as an inspection',
  'query/index-need.ts #equal': 'lives as long as a plan is made',
  'query/index-need.ts #named': 'lives as long as a plan is made',
  'query/index-need.ts #ranges': 'lives as long as a plan is made',
  'query/index-need.ts alternatives': 'lives as long as a plan is made',
  'query/index-need.ts conditions': 'lives as long as a plan is made',
  'query/index-need.ts related': 'lives as long as a plan is made',
  'records/request-shapes.ts #changed': 'collections that exist',
  'records/request-shapes.ts #shapes': '500 shapes of 2,000 characters; cheap ones are dropped',
  'records/request-shapes.ts #used': 'definitions in use, as weak keys; the indexes of a collection',
  'records/request-shapes.ts #waiting': '50 statements of 32 KiB',
};
/** The same for maps that are members of an object that a function creates. */
const boundedMembers: readonly string[] = [
  'records/plan-cache.ts counts', // LruMap
  'records/plan-cache.ts plans', // LruMap
];

const source = fileURLToPath(new URL('../src', import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .sort();

/** A declaration without indentation belongs to a module; one with two spaces belongs to a class or a function. */
const declaration =
  /^(?: {2}(?:(?:private|static) )?(?:readonly )?(#?\w+)|(?: {2})?(?:export )?(?:const|let) (\w+))(?:: [^\n]+?)? = (?:new (?:Map|Set|WeakMap|WeakSet|LruMap)\b|\[\];)/gm;

/** Names of the long-lived collections of a file that are filled after their creation. */
function filledIn(text: string): string[] {
  const names: string[] = [];
  for (const match of text.matchAll(declaration)) {
    const [line, member, variable] = match;
    const name = (member ?? variable)!;
    const own = name.startsWith('#') || member !== undefined ? `this\\.${name}` : `\\b${name}`;
    const isFilled = new RegExp(`${own}(?:\\[[^\\]]+\\] = |\\.(?:set|add|push|unshift)\\(| = )`).test(
      text.replace(line, ''),
    );
    const isLocal = member === undefined && line.startsWith('  ');
    if ((isFilled || line.includes('LruMap')) && !(isLocal && !isCaptured(text, match.index, name))) names.push(name);
  }
  return names;
}

/** Whether the function around a declaration returns a closure that uses the name. */
function isCaptured(text: string, from: number, name: string): boolean {
  const end = text.indexOf('\n}', from);
  const body = text.slice(from, end);
  const closure = /\n {2}return (?:async )?\(?[\w, :]*\)? =>/.exec(body);
  return closure !== null && new RegExp(`\\b${name}\\b`).test(body.slice(closure.index));
}

test('every long-lived map, set and list has a bound', () => {
  const found = files.flatMap((file) =>
    filledIn(readFileSync(join(source, file), 'utf8')).map((name) => `${file} ${name}`),
  );
  expect(found.sort()).toEqual(Object.keys(bounded).sort());
});

test('every map that is a member of a long-lived object has a bound', () => {
  const found = files.flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/^\s+(\w+): new (?:Map|LruMap)\b/gm)].map(
      ([, name]) => `${file} ${name}`,
    ),
  );
  expect(found.sort()).toEqual(boundedMembers);
});

test('the check finds unbounded maps', () => {
  expect(filledIn('const seen = new Map<string, number>();\nfunction f() {\n  seen.set("a", 1);\n}\n')).toEqual([
    'seen',
  ]);
  expect(filledIn('const known = new Set(["a"]);\n')).toEqual([]);
  expect(filledIn('class A {\n  readonly #seen: string[] = [];\n  f() {\n    this.#seen.push("a");\n  }\n}\n')).toEqual(
    ['#seen'],
  );
  const closure =
    'function f() {\n  const seen = new Map<string, number>();\n  return (a) => {\n    seen.set(a, 1);\n  };\n}\n';
  expect(filledIn(closure)).toEqual(['seen']);
  expect(
    filledIn('function f() {\n  const seen = new Map<string, number>();\n  seen.set("a", 1);\n  return seen;\n}\n'),
  ).toEqual([]);
});
