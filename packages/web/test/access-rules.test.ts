/** The permission rules of roles as the pages compute them, compared with the server. */
import { expect, test } from 'vitest';
import { grantableActions as serverActions } from '../../server/src/protocol/actions.ts';
import type { Permission } from '../src/admin/access/dto.ts';
import { parseAuditSearch } from '../src/admin/access/list-search.ts';
import { buildAuditFilter } from '../src/admin/audit/audit-filter.ts';
import { getKeyState } from '../src/admin/keys/key-state.ts';
import { grantableActions, presets } from '../src/admin/roles/actions.ts';
import { findDecision, type Resource, type RoleRules } from '../src/admin/roles/decision.ts';
import { buildRuleOperations } from '../src/admin/roles/save-rule.ts';
import { isServerAdmin } from '../src/data/server-admin.ts';
import { access } from '../src/ui/i18n/en/access.ts';

const rule = (id: number, resource: string, ...actions: string[]): Permission => ({
  id,
  role: 'r',
  resource,
  actions,
  filter: null,
  fields: null,
  exceptFields: null,
});
const posts: Resource = { name: 'posts', kind: 'defined' };
const users: Resource = { name: 'users', kind: 'system' };

test('the permission matrix offers the actions that the server grants, and has labels for them', () => {
  expect([...grantableActions].sort()).toEqual([...serverActions].sort());
  for (const action of [...serverActions, '*']) expect(access.actionNames[action], action).toBeTruthy();
  for (const preset of Object.values(presets)) for (const action of preset) expect(serverActions).toContain(action);
});

test.each<[string, Partial<RoleRules>, Resource, string, string, number | null]>([
  ['nothing grants', {}, posts, 'list', 'nothing', null],
  [
    'the named resource takes precedence',
    { ownRules: [rule(1, '*', 'list'), rule(2, 'posts', 'list')] },
    posts,
    'list',
    'own',
    2,
  ],
  [
    'the named action takes precedence',
    { ownRules: [rule(1, 'posts', '*'), rule(2, 'posts', 'list')] },
    posts,
    'list',
    'own',
    2,
  ],
  ['every action', { ownRules: [rule(1, 'posts', '*')] }, posts, 'get', 'own', 1],
  [
    'an absent action falls back to the wildcard',
    { ownRules: [rule(1, '*', 'get'), rule(2, 'posts', 'list')] },
    posts,
    'get',
    'all',
    1,
  ],
  ['* never includes system collections', { ownRules: [rule(1, '*', 'list')] }, users, 'list', 'nothing', null],
  [
    'public rules apply last',
    { ownRules: [rule(1, '*', 'list')], publicRules: [rule(2, 'posts', 'list')] },
    posts,
    'list',
    'all',
    1,
  ],
  ['public opens', { publicRules: [rule(2, '*', 'list')] }, posts, 'list', 'public', 2],
  ['allowConfigure permits system collections', { role: { allowConfigure: true } }, users, 'list', 'configure', null],
  ['allowConfigure permits no data', { role: { allowConfigure: true } }, posts, 'list', 'nothing', null],
])('%s', (_, given, resource, action, source, id) => {
  const roleRules = { role: { allowConfigure: false }, ownRules: [], publicRules: [], ...given };
  const decision = findDecision(roleRules, resource, action);
  expect([decision.source, decision.permission?.id ?? null]).toEqual([source, id]);
});

test('when a rule takes over actions, they are first removed from the other rules, so that no action is ever in two rules', () => {
  const rules = [rule(1, 'posts', 'list', 'get'), rule(2, 'posts', 'update'), rule(3, 'other', 'list')];
  const values = { role: 'r', resource: 'posts', filter: null, fields: null, exceptFields: null };
  expect(buildRuleOperations({ ...values, actions: ['get', 'update'] }, null, rules)).toEqual([
    { op: 'update', resource: 'permissions', filterByTk: 1, values: { actions: ['list'] } },
    { op: 'destroy', resource: 'permissions', filterByTk: 2 },
    { op: 'create', resource: 'permissions', values: { ...values, actions: ['get', 'update'] } },
  ]);
  expect(buildRuleOperations({ ...values, actions: ['list'] }, rules[0]!, rules)).toEqual([
    { op: 'update', resource: 'permissions', filterByTk: 1, values: { ...values, actions: ['list'] } },
  ]);
});

test('existing parameters of an address are kept, and days are in the time zone of the reader', () => {
  expect(parseAuditSearch({ action: 'users:', page: '2', entry: 'x', more: 1, outcome: '' })).toEqual({
    action: 'users:',
    page: 2,
  });
  expect(buildAuditFilter({})).toBeUndefined();
  expect(buildAuditFilter({ outcome: 'refused', to: '2026-02-28' })).toEqual({
    $and: [{ outcome: 'refused' }, { at: { $lt: new Date(2026, 2, 1).toISOString() } }],
  });
});

test('an API key that expires within a week is marked', () => {
  const now = Date.parse('2026-11-21T00:00:00Z');
  const getState = (expiresAt: string | null): string => getKeyState({ expiresAt, inactiveReason: null }, now);
  expect(getState(null)).toBe('active');
  expect(getState('2026-12-21T00:00:00Z')).toBe('active');
  expect(getState('2026-11-22T00:00:00Z')).toBe('soon');
  expect(getState('2026-11-21T00:00:00Z')).toBe('over');
  expect(getKeyState({ expiresAt: null, inactiveReason: 'roleLost' }, now)).toBe('inactive');
});

test.each([
  ['main', 'admin', true],
  ['main', 'viewer', false],
  ['shop', 'admin', false],
])('in %s, the role %s administrates the server: %s', (application, currentRole, expected) => {
  expect(isServerAdmin({ application, currentRole })).toBe(expected);
});
