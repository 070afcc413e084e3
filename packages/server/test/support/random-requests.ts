const types =
  'string text integer bigInt float double decimal boolean date time datetime json array select uid password email url phone color belongsTo hasOne hasMany belongsToMany'.split(
    ' ',
  );
const collections = ['a', 'b', 'c', 'users', 'roles', 'permissions', 'x'];
const names = ['f', 'g', 'h', 'id', 'aId', 'bId', 'createdAt', 'n', 'm', 'name', 'email'];
const operators = '$eq $ne $gt $lt $in $notIn $between $like $includes $startsWith $null $empty $exists $isTruly'.split(
  ' ',
);

/** Plausible and implausible requests about three small collections. They only depend on the seed. */
export class RandomRequests {
  #state: number;
  readonly #keyed: boolean;
  #lastKey = 100;

  /** @param keyed creates records with given keys, because generated keys differ between engines after a refusal. */
  constructor(seed: number, { keyed = false } = {}) {
    this.#state = seed;
    this.#keyed = keyed;
  }

  next(): [string, unknown] {
    const { pick, query } = this;
    const own = pick(collections.slice(0, 3));
    const at = this.below(9) ? own : pick(collections);
    const dry = this.below(8) ? '' : '?dryRun=true';
    const reached = (): string =>
      query(this.below(2) ? { filterByTk: String(this.below(5)) } : { filter: this.#filter() });
    const makers: (() => [string, unknown])[] = [
      () => [
        `POST /api/collections:create${dry}`,
        { name: own, fields: Array.from({ length: this.below(5) }, () => this.#field()), ...this.#options() },
      ],
      () => [`POST /api/fields:create${dry}`, { collectionName: at, ...this.#field() }],
      () => [`POST /api/fields:update${dry}`, { ...this.#field(), collectionName: at, name: pick(names) }],
      () => [`POST /api/fields:update${dry}`, { collectionName: at, name: pick(names), newName: pick(names) }],
      () => [`POST /api/fields:destroy${dry}`, { collectionName: at, name: pick(names) }],
      () => [
        `POST /api/collections:update?filterByTk=${own}`,
        { title: 't', options: { indexes: [{ fields: [pick(names)] }] } },
      ],
      () => [
        this.below(6)
          ? 'GET /api/collections:list'
          : `POST /api/collections:destroy?filterByTk=${own}&cascade=${pick(['true', 'false'])}`,
        undefined,
      ],
      () => [
        `POST /api/collections:apply${dry}`,
        [own, pick(collections.slice(0, 3))].map((name) => ({
          name,
          fields: Array.from({ length: this.below(4) }, () => this.#field()),
          ...this.#options(),
        })),
      ],
      () => [`POST /api/${own}:create`, this.below(3) ? this.#record(true) : [this.#record(true), this.#record(true)]],
      () => [`POST /api/${own}:restore?${reached()}`, undefined],
      () => [`POST /api/${own}:destroy?force=true&${reached()}`, undefined],
      () => [`GET /api/${own}:list?${pick(['withDeleted', 'onlyDeleted'])}=true`, undefined],
      () => [`POST /api/${own}:update?${reached()}`, this.#record()],
      () => [`POST /api/${own}:destroy?${reached()}`, undefined],
      () => [
        `GET /api/${own}:list?${query({ filter: this.#filter(), sort: `${pick(['', '-'])}${pick(names)}`, pageSize: '2' })}`,
        undefined,
      ],
      () => [`GET /api/${own}:list?${query({ appends: `${pick(names)},${pick(names)}.${pick(names)}` })}`, undefined],
      () => [
        'POST /api/permissions:create',
        {
          role: 'viewer',
          resource: pick(collections),
          actions: ['list'],
          filter: this.#filter(),
          fields: [pick(names)],
        },
      ],
    ];
    return pick(makers)();
  }

  readonly below = (most: number): number => {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * most);
  };

  readonly pick = <T>(from: readonly T[]): T => from[this.below(from.length)]!;

  readonly query = (parts: Readonly<Record<string, unknown>>): string =>
    Object.entries(parts)
      .map(([key, value]) => `${key}=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`)
      .join('&');

  #junk(): unknown {
    return this.pick([
      null,
      0,
      -1,
      1.5,
      true,
      '',
      'x',
      '2026-01-01',
      [],
      {},
      [1],
      ['a'],
      { $gt: 1 },
      '{{$user.id}}',
      1e300,
      '9223372036854775807',
      '\u0000',
    ]);
  }

  #value(): unknown {
    return this.below(3)
      ? this.pick(['x', 'y', 1, 2, true, '2026-01-01', '12.5', null, 'a@b.de', ['a'], { k: 1 }])
      : this.#junk();
  }

  #field(): Record<string, unknown> {
    const { pick, below } = this;
    const good: Readonly<Record<string, () => unknown>> = {
      required: () => true,
      unique: () => true,
      index: () => true,
      allowNull: () => false,
      defaultValue: () => this.#value(),
      maxLength: () => 3,
      min: () => 1,
      max: () => 5,
      precision: () => 4,
      scale: () => 2,
      pattern: () => '^a',
      enum: () => ['a', 'b'],
      multiple: () => true,
      dateOnly: () => true,
      autoNow: () => true,
      autoNowAdd: () => true,
      target: () => pick(collections),
      foreignKey: () => pick(names),
      otherKey: () => pick(names),
      sourceKey: () => pick(names),
      targetKey: () => pick(names),
      through: () => pick(collections),
      onDelete: () => pick(['setNull', 'cascade', 'restrict']),
      primaryKey: () => pick([true, false]),
      autoIncrement: () => true,
      uiSchema: () => ({}),
      options: () => ({ min: 1 }),
      title: () => 't',
    };
    const field: Record<string, unknown> = {
      name: below(12) ? pick(names) : this.#junk(),
      type: below(12) ? pick(types) : this.#junk(),
    };
    for (let count = below(4); count > 0; count -= 1) {
      const property = pick(Object.keys(good));
      field[property] = below(3) ? good[property]!() : this.#junk();
    }
    if (/^(belongs|has)/.test(String(field['type']))) field['target'] ??= pick(collections);
    if (field['type'] === 'select') field['enum'] ??= ['a', 'b'];
    return field;
  }

  #options(): object {
    if (this.below(3)) return {};
    const index = { fields: [this.pick(names)], unique: this.below(2) === 1 };
    const truth = (): boolean => this.below(2) === 1;
    const options = { timestamps: truth(), paranoid: truth(), authors: truth(), logging: truth() };
    return { options: this.below(2) ? options : { ...options, indexes: [index] } };
  }

  #filter(): Record<string, unknown> {
    const name = this.pick(names);
    const kinds: (() => Record<string, unknown>)[] = [
      () => ({ [name]: this.#value() }),
      () => ({ [name]: { [this.pick(operators)]: this.#value() } }),
      () => ({ $or: [this.#filter(), this.#filter()] }),
      () => ({ $not: this.#filter() }),
      () => ({ [`${name}.${this.pick(names)}`]: this.#value() }),
    ];
    return this.pick(kinds)();
  }

  #record(isNew = false): Record<string, unknown> {
    const record = Object.fromEntries(Array.from({ length: this.below(4) }, () => [this.pick(names), this.#value()]));
    if (!this.#keyed || !isNew) return record;
    this.#lastKey += 1;
    return { ...record, id: this.below(3) ? this.#lastKey : this.below(6) };
  }
}
