/** Random programs about records: mostly valid requests, which only depend on the seed. */

export const programDefinitions = [
  {
    name: 'teams',
    fields: [
      { name: 'name', type: 'string', unique: true },
      { name: 'place', type: 'sort' },
      { name: 'members', type: 'hasMany', target: 'people', foreignKey: 'teamId' },
    ],
    options: { timestamps: false },
  },
  {
    name: 'people',
    fields: [
      { name: 'name', type: 'string', required: true, maxLength: 12 },
      { name: 'email', type: 'email', unique: true },
      { name: 'age', type: 'integer', min: 0 },
      { name: 'big', type: 'bigInt' },
      { name: 'money', type: 'decimal', precision: 12, scale: 2 },
      { name: 'born', type: 'date' },
      { name: 'seen', type: 'datetime' },
      { name: 'at', type: 'time' },
      { name: 'active', type: 'boolean', defaultValue: false },
      { name: 'tags', type: 'array' },
      { name: 'kind', type: 'select', enum: ['x', 'y', 'z'] },
      { name: 'team', type: 'belongsTo', target: 'teams' },
      { name: 'boss', type: 'belongsTo', target: 'people', onDelete: 'restrict' },
      { name: 'reports', type: 'hasMany', target: 'people', foreignKey: 'bossId' },
      { name: 'skills', type: 'belongsToMany', target: 'skills' },
      { name: 'desk', type: 'hasOne', target: 'desks', foreignKey: 'ownerId' },
    ],
    options: { paranoid: true, logging: true },
  },
  { name: 'skills', fields: [{ name: 'name', type: 'string' }], options: { timestamps: false, paranoid: true } },
  { name: 'desks', fields: [{ name: 'no', type: 'integer' }], options: { timestamps: false } },
];

type Values = Record<string, unknown>;
type Request = [string, unknown];

const words = ['Ann', 'bob', 'Zoë', 'ÄRA', 'ß', 'σς', 'a%b', '_', "o'k", '', 'x', '日本'];
const scalars: Readonly<Record<string, readonly unknown[]>> = {
  name: words,
  email: ['a@b.de', 'c@d.org', 'e@f.io', null],
  age: [0, 1, 7, 41, 2_147_483_647, null],
  big: [0, -5, '9223372036854775807', 9_007_199_254_740_991, null],
  money: ['0.00', '12.30', '-7.05', '1000000.00', 3, null],
  born: ['2000-02-29', '1999-12-31', '2026-11-21', null],
  seen: ['2026-11-21T08:00:00.000Z', '2026-11-20T23:59:59.999Z', '0001-01-01T00:00:00.000Z', null],
  at: ['00:00:00', '23:59:59.500', null],
  active: [true, false, null],
  kind: ['x', 'y', 'z', null],
};
const names = Object.keys(scalars);
const periods = [
  '2026',
  '2026-11',
  '2026Q4',
  '2026W47',
  '2026-11-21',
  { type: 'today' },
  { type: 'past', number: 3, unit: 'day' },
];

export class RecordPrograms {
  #state: number;
  #key = 0;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** One program: a handful of requests. */
  next(): Request[] {
    return Array.from({ length: 3 + this.#below(6) }, () => this.#request());
  }

  #request(): Request {
    const makers: (() => Request)[] = [
      () => [
        'POST /api/people:create',
        this.#below(4) ? this.#person(true) : [this.#person(false), this.#person(false)],
      ],
      () => [`POST /api/people:create?appends=team,skills,desk`, this.#person(true)],
      () => [`POST /api/people:update?filterByTk=${this.#id()}&appends=skills`, this.#change()],
      () => [`POST /api/people:update?filter=${this.#filter(0)}`, { age: this.#pick(scalars['age']!) }],
      () => [`POST /api/people:destroy?filterByTk=${this.#id()}`, undefined],
      () => [`POST /api/people:destroy?filterByTk=${this.#id()}&force=true`, undefined],
      () => [`POST /api/people:restore?filterByTk=${this.#id()}`, undefined],
      () => ['POST /api/teams:create', { id: this.#next(), name: `${this.#pick(words)}${this.#below(5)}` }],
      () => [`POST /api/teams:destroy?filterByTk=${this.#id()}`, undefined],
      () => [`POST /api/teams:move?sourceId=${this.#id()}&targetId=${this.#id()}&sortField=place`, undefined],
      () => ['POST /api/skills:create', { id: this.#next(), name: this.#pick(words) }],
      () => ['POST /api/people:firstOrCreate?filterKeys=name', this.#person(false)],
      () => ['POST /api/people:updateOrCreate?filterKeys=email&appends=team', this.#person(true)],
      () => this.#link(),
      () => this.#link(),
      () => [`GET /api/people/${this.#id()}/${this.#pick(['skills', 'reports'])}:list?sort=${this.#sort()}`, undefined],
      () => [`GET /api/people/${this.#id()}/${this.#pick(['team', 'boss', 'desk'])}:get`, undefined],
      () => this.#list(),
      () => this.#list(),
      () => this.#list(),
      () => [
        `GET /api/people:get?filterByTk=${this.#id()}&appends=team.members,boss.boss,reports,skills,desk`,
        undefined,
      ],
      () => ['POST /api/people:query', this.#query()],
      () => [
        `GET /api/teams:list?sort=place&appends=members&search=${encodeURIComponent(this.#pick(words))}`,
        undefined,
      ],
    ];
    return this.#pick(makers)();
  }

  #link(): Request {
    const action = this.#pick(['set', 'add', 'remove', 'toggle']);
    const relation = this.#pick(['skills', 'reports', 'team', 'boss', 'desk']);
    const values = Array.from({ length: this.#below(3) }, () => this.#id());
    return [`POST /api/people/${this.#id()}/${relation}:${action}`, { values }];
  }

  #list(): Request {
    const more = this.#pick([
      '',
      '&appends=team,skills',
      '&appends=boss.team&except=tags',
      '&fields=id,name,age,team.name',
      '&withDeleted=true',
      '&onlyDeleted=true',
      '&count=none',
      `&search=${encodeURIComponent(this.#pick(words))}`,
      '&page=2',
      '&paginate=false',
      '&versions=true',
    ]);
    return [`GET /api/people:list?pageSize=4&filter=${this.#filter(0)}&sort=${this.#sort()}${more}`, undefined];
  }

  #query(): unknown {
    const measures = [
      { aggregation: 'count' },
      { field: 'age', aggregation: this.#pick(['sum', 'min', 'max', 'count']), alias: 'a' },
      { field: 'money', aggregation: this.#pick(['sum', 'min', 'max']), alias: 'm' },
      { field: 'name', aggregation: this.#pick(['min', 'max', 'count']), alias: 'n', distinct: this.#below(2) === 1 },
      { field: 'seen', aggregation: this.#pick(['min', 'max']), alias: 's' },
    ].slice(0, 1 + this.#below(5));
    const format = this.#pick(['YYYY', 'YYYYQ', 'YYYY-MM', 'YYYYW', 'YYYY-MM-DD']);
    const dimensions = this.#pick([
      [],
      ['kind'],
      ['active', 'team.name'],
      [{ field: 'seen', format, alias: 'when' }],
      [{ field: 'born', format, alias: 'when' }],
    ]);
    const having = this.#below(3) ? {} : { having: { count: { $gt: this.#below(4) } } };
    return { measures, dimensions, ...having, filter: JSON.parse(decodeURIComponent(this.#filter(0))) as unknown };
  }

  #person(nested: boolean): Values {
    const person: Values = { id: this.#next(), name: this.#pick(words) };
    for (const name of names) if (this.#below(2)) person[name] = this.#pick(scalars[name]!);
    if (this.#below(3) === 0) person['tags'] = this.#pick([[], ['a'], ['a', 1, null], ['b', { k: true }], null]);
    if (this.#below(3) === 0) person['teamId'] = this.#id();
    if (this.#below(6) === 0) person['bossId'] = this.#id();
    return nested ? { ...person, ...this.#nested() } : person;
  }

  #nested(): Values {
    const made = (): Values => ({ id: this.#next(), name: this.#pick(words) });
    const kinds: (() => Values)[] = [
      () => ({}),
      () => ({ skills: [this.#id(), made()] }),
      () => ({ skills: this.#pick([null, [], [this.#id()]]) }),
      () => ({ team: made() }),
      () => ({ boss: { id: this.#next(), name: this.#pick(words), skills: [made()] } }),
      () => ({ desk: { id: this.#next(), no: this.#below(9) } }),
      () => ({ reports: [{ id: this.#next(), name: this.#pick(words) }] }),
    ];
    return this.#pick(kinds)();
  }

  #change(): Values {
    const { id: _, ...person } = this.#person(true);
    return person;
  }

  #filter(depth: number): string {
    return encodeURIComponent(JSON.stringify(this.#condition(depth)));
  }

  #condition(depth: number): Values {
    const name = this.#pick(names);
    const value = (): unknown => this.#pick(scalars[name]!);
    const kinds: (() => Values)[] = [
      () => ({}),
      () => ({ [name]: value() }),
      () => ({ [name]: { [this.#pick(['$ne', '$gt', '$gte', '$lt', '$lte', '$eq'])]: value() } }),
      () => ({ [name]: { [this.#pick(['$in', '$notIn'])]: [value(), value()] } }),
      () => ({ [name]: { [this.#pick(['$null', '$notNull', '$empty', '$notEmpty'])]: this.#below(2) === 1 } }),
      () => ({
        name: {
          [this.#pick(['$includes', '$notIncludes', '$startsWith', '$endsWith', '$like', '$ilike', '$notLike'])]:
            this.#pick([...words, 'A%', '%b', 'Σ', 'ss']),
        },
      }),
      () => ({ [this.#pick(['born', 'seen'])]: { [this.#pick(dateOperators)]: this.#pick(periods) } }),
      () => ({
        tags: { [this.#pick(['$anyOf', '$noneOf', '$match', '$notMatch'])]: this.#pick([['a'], [1, 'a', null], []]) },
      }),
      () => ({ [`team.${this.#pick(['name', 'place', 'id'])}`]: this.#pick([...words, 1, 2]) }),
      () => ({ [this.#pick(['boss', 'skills', 'reports', 'desk'])]: { $exists: this.#below(2) === 1 } }),
      () => ({ [this.#pick(['boss', 'reports'])]: depth < 2 ? this.#condition(depth + 1) : { age: 1 } }),
      () => ({ 'skills.name': { $includes: this.#pick(words) } }),
    ];
    if (depth < 2) {
      const inner = (): Values => this.#condition(depth + 1);
      kinds.push(
        () => ({ $and: [inner(), inner()] }),
        () => ({ $or: [inner(), inner()] }),
        () => ({ $not: inner() }),
      );
    }
    return this.#pick(kinds)();
  }

  #sort(): string {
    const term = (): string => `${this.#pick(['', '-'])}${this.#pick([...names, 'id', 'team.name', 'boss.age'])}`;
    return this.#below(2) ? term() : `${term()},${term()}`;
  }

  #next(): number {
    this.#key += 1;
    return this.#key;
  }

  /** A key that usually belongs to a recently created record. */
  #id(): number {
    return Math.max(1, this.#key - this.#below(30));
  }

  #below(most: number): number {
    this.#state = (Math.imul(this.#state ^ (this.#state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return Math.floor((((this.#state ^ (this.#state >>> 13)) >>> 0) / 2 ** 32) * most);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)]!;
  }
}

const dateOperators = [
  '$dateOn',
  '$dateNotOn',
  '$dateBefore',
  '$dateAfter',
  '$dateNotBefore',
  '$dateNotAfter',
  '$dateBetween',
];
