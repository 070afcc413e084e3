import type { CollectionModel, Dataset, FieldModel, Filter } from '../oracle/model.ts';
import { isScalar, listTypes, textTypes } from '../oracle/values.ts';
import type { Draw } from './draw.ts';
import { patterns, periods, texts, unstoredValues, valuePools, variables } from './values.ts';

/** A filter on a collection, with relation paths up to five levels deep. It may name denied fields and secrets. */
export function makeRandomFilter(draw: Draw, collection: CollectionModel, world: Dataset): Filter {
  return new Filters(draw, world, false).object(collection, 0, 0);
}

/** The row filter of a permission. It may name all fields except secrets, and contain variables. */
export function makeRandomRowFilter(draw: Draw, collection: CollectionModel, world: Dataset): Filter {
  return new Filters(draw, world, true).object(collection, 0, 0);
}

/** Invalid texts and variables are rare; most conditions use values that records contain. */
class Filters {
  readonly #draw: Draw;
  readonly #world: Dataset;
  readonly #forPermission: boolean;

  constructor(draw: Draw, world: Dataset, forPermission: boolean) {
    this.#forPermission = forPermission;
    this.#draw = draw;
    this.#world = world;
  }

  object(collection: CollectionModel, depth: number, steps: number): Filter {
    const draw = this.#draw;
    if (depth < 3 && draw.chance(30)) return this.#logic(collection, depth, steps);
    const conditions = draw.times(1, draw.chance(20) ? 2 : 1, () => this.#member(collection, depth, steps));
    return Object.assign({}, ...conditions);
  }

  #logic(collection: CollectionModel, depth: number, steps: number): Filter {
    const inner = (): Filter => this.object(collection, depth + 1, steps);
    const draw = this.#draw;
    const kind = draw.pick(['$and', '$or', '$not'] as const);
    return kind === '$not' ? { $not: inner() } : { [kind]: draw.times(draw.chance(15) ? 0 : 1, 3, inner) };
  }

  #member(collection: CollectionModel, depth: number, steps: number): Filter {
    const draw = this.#draw;
    const { relations } = collection;
    if (relations.length > 0 && steps < 5 && draw.chance(45)) {
      const relation = draw.pick(relations);
      const target = this.#world.collections.get(relation.target)!;
      if (draw.chance(20)) return { [relation.name]: this.#presence(target) };
      const inner = this.object(target, depth + 1, steps + 1);
      const [only] = Object.keys(inner);
      const dotted = Object.keys(inner).length === 1 && !only!.startsWith('$') && draw.chance(60);
      return dotted ? { [`${relation.name}.${only}`]: inner[only!] } : { [relation.name]: inner };
    }
    const field = draw.pick(
      collection.fields.filter(({ type }) => type !== 'password' || (!this.#forPermission && draw.chance(10))),
    );
    return { [field.name]: this.#condition(field) };
  }

  #presence(target: CollectionModel): unknown {
    const draw = this.#draw;
    const flag = draw.chance(70);
    const key = target.fields.find(({ name }) => name === target.key)!;
    return draw.pick([
      () => null,
      () => ({ $exists: flag }),
      () => ({ $notExists: flag }),
      () => this.#value(key),
      () => ({ $in: [this.#stored(key), this.#stored(key)] }),
      () => ({ $ne: this.#value(key) }),
    ])();
  }

  #condition(field: FieldModel): unknown {
    const draw = this.#draw;
    const condition = this.#test(field);
    if (typeof condition !== 'object' || condition === null || Array.isArray(condition) || !draw.chance(12))
      return condition;
    return draw.pick([{ $not: condition }, { ...condition, ...(this.#compared(field) as object) }]);
  }

  #test(field: FieldModel): unknown {
    const draw = this.#draw;
    const { type } = field;
    const makers: (() => unknown)[] = [() => this.#presenceTest(), () => null];
    if (isScalar(type))
      makers.push(
        () => this.#scalar(field),
        () => this.#scalar(field),
        () => this.#compared(field),
      );
    if (textTypes.has(type))
      makers.push(
        () => this.#text(),
        () => this.#text(),
      );
    if (type === 'boolean') makers.push(() => ({ [draw.pick(['$isTruly', '$isFalsy'])]: draw.chance(70) }));
    if (type === 'date' || type === 'datetime')
      makers.push(
        () => this.#dated(),
        () => this.#dated(),
      );
    if (listTypes.has(type))
      makers.push(
        () => this.#listed(field),
        () => this.#listed(field),
      );
    return draw.pick(makers)();
  }

  #presenceTest(): unknown {
    return { [this.#draw.pick(['$null', '$notNull', '$empty', '$notEmpty'])]: this.#draw.chance(60) };
  }

  #scalar(field: FieldModel): unknown {
    const draw = this.#draw;
    const list = (): unknown[] => draw.times(0, 3, () => (draw.chance(8) ? null : this.#stored(field)));
    return draw.pick([
      () => this.#value(field),
      () => list(),
      () => ({ $in: this.#listOrVariable(list) }),
      () => ({ $notIn: this.#listOrVariable(list) }),
      () => ({ $between: [this.#stored(field), this.#stored(field)] }),
    ])();
  }

  #listOrVariable(list: () => unknown[]): unknown {
    return this.#draw.chance(10) ? this.#draw.pick(variables.slice(0, 8)) : list();
  }

  #compared(field: FieldModel): unknown {
    if (!isScalar(field.type)) return { $notNull: true };
    const operator = this.#draw.pick(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte']);
    return { [operator]: this.#value(field) };
  }

  #text(): unknown {
    const draw = this.#draw;
    if (draw.chance(40)) return { [draw.pick(['$like', '$notLike', '$ilike'])]: draw.pick(patterns) };
    const operators = ['$includes', '$startsWith', '$endsWith', '$endWith'];
    const negated = ['$notIncludes', '$notStartsWith', '$notEndsWith'];
    return {
      [draw.pick([...operators, ...negated])]: draw.chance(10) ? draw.pick(variables) : this.#allowed(draw.pick(texts)),
    };
  }

  #dated(): unknown {
    const draw = this.#draw;
    if (draw.chance(20)) {
      const ends = draw.chance(80) ? [draw.pick(periods), draw.pick(periods)] : draw.pick(periods);
      return { $dateBetween: ends };
    }
    const positive = ['$dateOn', '$dateBefore', '$dateAfter'];
    const operator = draw.pick([...positive, ...positive.map((each) => each.replace('$date', '$dateNot'))]);
    return { [operator]: draw.chance(12) ? draw.pick(variables) : draw.pick(periods) };
  }

  #listed({ type }: FieldModel): unknown {
    const draw = this.#draw;
    if (draw.chance(20)) return { [draw.pick(['$arrayEmpty', '$arrayNotEmpty'])]: draw.chance(60) };
    const elements = type === 'selects' ? ['x', 'y', 'Z'] : ['a', 1, null, '1', true, 'é', 'b'];
    const list = this.#listOrVariable(() => draw.some(elements, 30));
    return { [draw.pick(['$match', '$notMatch', '$anyOf', '$noneOf'])]: list };
  }

  #value(field: FieldModel): unknown {
    return this.#draw.chance(8) ? this.#draw.pick(variables) : this.#stored(field);
  }

  #stored({ type }: FieldModel): unknown {
    return this.#allowed(this.#draw.pick([...valuePools[type], ...(unstoredValues[type] ?? [])]));
  }

  #allowed(value: unknown): unknown {
    return this.#forPermission && value === '{{nobody}}' ? 'nobody' : value;
  }
}
