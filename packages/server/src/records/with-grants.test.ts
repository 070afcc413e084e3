import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RecordContext } from './record-context.ts';
import { roleGrantsKey, withAllFields, withGrants, withOnlyGrant, withServerGrant } from './with-grants.ts';

const grant = (identity: string) => ({ identity, rows: null, may: () => false });

function createContext(role: string): RecordContext {
  return { findGrant: () => null, grants: roleGrantsKey(role) } as unknown as RecordContext;
}

/** Names of roles that look like a part of a key. */
const role = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    'sign-up',
    'a',
    '"a"',
    'a as get b',
    'a exporting',
    '[]',
    '["b","list","row 1"]',
    'a"["b","list","x"]',
  ),
);
const override = fc.record({
  resource: fc.constantFrom('a', 'b', 'users'),
  action: fc.constantFrom('get', 'list', undefined),
  identity: fc.constantFrom('row 1', 'row 2', 'sign-up', null),
});
const chain = fc.record({
  role,
  base: fc.constantFrom('role', 'only', 'server'),
  overrides: fc.array(override, { maxLength: 3 }),
});

function built({ role: name, base, overrides }: typeof chain extends fc.Arbitrary<infer T> ? T : never): RecordContext {
  const start = createContext(name);
  const first = { resource: 'users', action: 'create', grant: grant('sign-up') };
  const from = {
    role: () => start,
    only: () => withOnlyGrant(start, first),
    server: () => withServerGrant(start, grant('sign-up')),
  }[base as 'role']();
  return overrides.reduce(
    (context, { resource, action, identity }) =>
      withGrants(context, { resource, ...(action && { action }), grant: identity === null ? null : grant(identity) }),
    from,
  );
}

test('no role name gives the grants of another role or of the server', () => {
  fc.assert(
    fc.property(chain, chain, (one, other) => {
      const isSame =
        one.base === other.base &&
        (one.base !== 'role' || one.role === other.role) &&
        JSON.stringify(one.overrides) === JSON.stringify(other.overrides);
      expect(built(one).grants === built(other).grants).toBe(isSame);
    }),
    { numRuns: 2000 },
  );
});

test('an override applies to its resource and action only', () => {
  const context = withGrants(createContext('a'), { resource: 'posts', action: 'list', grant: grant('all posts') });
  expect(context.findGrant('posts', 'list')?.identity).toBe('all posts');
  expect(context.findGrant('posts', 'get')).toBeNull();
  expect(context.findGrant('users', 'list')).toBeNull();
  const every = withGrants(context, { resource: 'posts', grant: grant('any') });
  expect([every.findGrant('posts', 'list')?.identity, every.findGrant('posts', 'get')?.identity]).toEqual([
    'any',
    'any',
  ]);
});

test('a grant on all fields is distinguished from the grant that it was derived from', () => {
  const some = grant('row 1');
  expect(withAllFields(some)).toMatchObject({ identity: 'row 1, all fields', rows: null });
  expect(withAllFields(some).may({} as never)).toBe(true);
});
