/**
 * Random schema documents whose entries share a small set of ids and names, so that two documents can differ in every
 * possible way.
 */
import fc from 'fast-check';
import type { Json } from './json.ts';

const types = ['string', 'text', 'integer', 'bigInt', 'double', 'boolean', 'date', 'datetime', 'json'] as const;

/** Gives ids distinct names. The names are shuffled, so a name can move from one id to another. */
const named = (ids: readonly string[], names: readonly string[]): fc.Arbitrary<Json[]> =>
  fc
    .tuple(fc.subarray([...ids]), fc.shuffledSubarray([...names], { minLength: ids.length, maxLength: ids.length }))
    .map(([chosen, order]) => chosen.map((id, index) => ({ id, name: order[index] })));

const fieldProperties = fc.record({
  type: fc.constantFrom(...types),
  title: fc.option(fc.constantFrom('One', 'Two'), { nil: undefined }),
  index: fc.boolean(),
  unique: fc.boolean(),
  required: fc.boolean(),
});

/** A field of type json cannot be unique in a document, because JSON values are not sortable. */
function toField(entry: Json, properties: Json): Json {
  const { type, title, index, unique, required } = properties;
  const isSortable = type !== 'json';
  return {
    ...entry,
    type,
    ...(title !== undefined && { title }),
    ...(isSortable && index && { index }),
    ...(isSortable && unique && { unique }),
    ...(required && { required }),
  };
}

const relation = fc.record({
  kind: fc.constantFrom('belongsTo', 'belongsTo', 'belongsToMany', 'none'),
  to: fc.nat(9),
  onDelete: fc.constantFrom('setNull', 'cascade', 'restrict'),
  inverse: fc.boolean(),
});

const collection = (id: string): fc.Arbitrary<Json> =>
  fc
    .tuple(
      named([`${id}f1`, `${id}f2`, `${id}f3`], ['alpha', 'beta', 'gamma', 'delta']),
      fc.array(fieldProperties, { minLength: 3, maxLength: 3 }),
      fc.record({ timestamps: fc.boolean(), paranoid: fc.boolean(), logging: fc.boolean(), authors: fc.boolean() }),
      fc.boolean(),
      fc.option(fc.constantFrom('First', 'Second'), { nil: undefined }),
      relation,
    )
    .map(([entries, properties, options, isIndexed, title, link]) => {
      const fields = entries.map((entry, index) => toField(entry, properties[index]));
      const indexable = fields.filter(({ type }) => type !== 'json').map(({ name }) => name);
      const text = fields.filter(({ type }) => type === 'string' || type === 'text').map(({ name }) => name);
      return {
        link,
        fields,
        ...(title !== undefined && { title }),
        options: {
          ...options,
          ...(isIndexed && indexable.length > 1 && { indexes: [{ fields: indexable.slice(0, 2) }] }),
          ...(isIndexed && text.length > 0 && { search: text.slice(0, 1) }),
        },
      };
    });

const collectionIds = ['c1', 'c2', 'c3', 'c4'];

/** Collections with relations among them, also in cycles and to themselves. */
const collections: fc.Arbitrary<Json[]> = fc
  .tuple(named(collectionIds, ['red', 'green', 'blue', 'white', 'black']), fc.tuple(...collectionIds.map(collection)))
  .map(([entries, bodies]) => {
    const all = entries.map((entry): Json => {
      const { link, ...body } = bodies[collectionIds.indexOf(entry.id)];
      return { ...entry, ...body, fields: [...body.fields], link };
    });
    for (const each of all) {
      const { kind, to, onDelete, inverse } = each.link;
      const target = all[to % all.length];
      const key = `key${each.id}`;
      if (kind === 'belongsTo') {
        each.fields.push({
          id: `${each.id}r`,
          name: 'owner',
          type: kind,
          target: target.name,
          foreignKey: key,
          onDelete,
        });
        if (inverse)
          target.fields.push({
            id: `${each.id}i`,
            name: `many${each.id}`,
            type: 'hasMany',
            target: each.name,
            foreignKey: key,
            onDelete,
          });
      } else if (kind === 'belongsToMany' && target !== each)
        each.fields.push({
          id: `${each.id}r`,
          name: 'owner',
          type: kind,
          target: target.name,
          through: `join${each.id}`,
        });
    }
    return all.map(({ link: _link, ...each }) => each);
  });

const security = fc.record({
  roles: named(['r1', 'r2'], ['clerk', 'guest', 'boss']),
  permissions: fc.array(
    fc.record({
      role: fc.nat(1),
      to: fc.nat(9),
      actions: fc.subarray(['create', 'list', 'destroy'], { minLength: 1 }),
      filtered: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  hooks: fc.subarray(['w1', 'w2']),
});

/** A document that extends one with the built-in roles. */
export function randomDocument(base: Json): fc.Arbitrary<Json> {
  return fc.tuple(collections, security).map(([list, { roles, permissions, hooks }]) => {
    const own = roles.map((role, index): Json => {
      const mine = permissions.filter((each) => each.role === index && list.length > 0);
      const byResource = new Map(
        mine.map(({ to, actions, filtered }) => {
          const { name, fields } = list[to % list.length];
          const scalar = fields.find(({ type }: Json) => type === 'string');
          const limits = filtered && scalar ? { filter: { [scalar.name]: 'x' }, fields: [scalar.name] } : {};
          return [name, { resource: name, actions, ...limits }];
        }),
      );
      return { ...role, allowConfigure: false, default: index === 0, permissions: [...byResource.values()] };
    });
    const webhooks =
      own.length === 0 || list.length === 0
        ? []
        : hooks.map((id) => ({
            id,
            url: `https://example.com/${id}`,
            events: [`${list[0].name}.*`],
            role: own[0].name,
            enabled: false,
          }));
    return { ...base, collections: list, roles: [...base.roles, ...own], webhooks };
  });
}
