import type { Dialect } from '../database/dialect.ts';
import { type Param, type Sql, sql } from '../database/sql.ts';
import { type ConditionSql, getOperator } from '../protocol/operators.ts';
import type { Storage } from '../schema/field-type.ts';
import type { Operand } from './predicate.ts';

/** An operator, its operand, and the storage of the column or expression that it tests. */
interface ColumnTest {
  /** A name of `operators`, without complements and other spellings (`compiledAs`). */
  readonly operator: string;
  readonly operand: Operand;
  readonly storage: Storage;
}

/**
 * Compiles one condition by the row of its operator.
 *
 * @param column what the condition is about: a column, or an expression of that storage.
 */
export function compileOperator({ operator, operand, storage }: ColumnTest, column: Sql, dialect: Dialect): Sql {
  if (operand.form === 'null') return sql`${column} IS NULL`;
  const { sql: compile } = getOperator(operator);
  if (!compile) throw new Error(`the operator ${operator} has no SQL`);
  return compile<Sql>(new ColumnCondition({ operand, storage, column, dialect }));
}

interface ConditionParts {
  readonly operand: Operand;
  readonly storage: Storage;
  readonly column: Sql;
  readonly dialect: Dialect;
}

class ColumnCondition implements ConditionSql<Sql> {
  readonly column: Sql;
  readonly text = sql;
  readonly #operand: Operand;
  readonly #storage: Storage;
  readonly #dialect: Dialect;

  constructor({ operand, storage, column, dialect }: ConditionParts) {
    this.column = column;
    this.#operand = operand;
    this.#storage = storage;
    this.#dialect = dialect;
  }

  get value(): Sql {
    return sql`${this.#param}`;
  }

  get first(): Sql {
    return this.#readMember(0);
  }

  get second(): Sql {
    return this.#readMember(1);
  }

  get start(): Sql {
    return this.#readMember(0);
  }

  get end(): Sql {
    return this.#readMember(1);
  }

  isInList(): Sql {
    return this.#dialect.isIn(this.column, this.#listParam(this.#storage));
  }

  isLike({ ignoreCase }: { readonly ignoreCase: boolean }): Sql {
    return this.#dialect.like(this.column, this.#param, ignoreCase);
  }

  contains(): Sql {
    return this.#dialect.contains(this.column, this.#param);
  }

  startsWith(): Sql {
    return this.#dialect.startsWith(this.column, this.#param);
  }

  endsWith(): Sql {
    return this.#dialect.endsWith(this.column, this.#param);
  }

  isEmpty(): Sql {
    return this.#dialect.isEmpty(this.#storage, this.column);
  }

  isTrue(): Sql {
    return this.#dialect.isTrue(this.column);
  }

  // The elements of a list are compared as JSON texts.
  hasSameElements(): Sql {
    return this.#dialect.sameElements(this.column, this.#listParam('text'));
  }

  hasAnyElement(): Sql {
    return this.#dialect.anyElement(this.column, this.#listParam('text'));
  }

  get #param(): Param {
    return { storage: this.#storage, read: this.#operand.read };
  }

  /** A list. It is empty, and matches nothing, where a variable has no value. */
  #listParam(storage: Storage): Param {
    const { read } = this.#operand;
    return { storage, list: true, read: (environment) => read(environment) ?? [] };
  }

  /** A member of a pair. It is null, and matches nothing, where a variable has no value. */
  #readMember(index: number): Sql {
    const { read } = this.#operand;
    const member: Param = {
      storage: this.#storage,
      read: (environment) => {
        const members = read(environment);
        return Array.isArray(members) ? (members[index] ?? null) : null;
      },
    };
    return sql`${member}`;
  }
}
