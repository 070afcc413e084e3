import type { Dialect } from '../database/dialect.ts';

/**
 * The state that the parts of one statement share: the engine's dialect, and aliases that are unique in the statement.
 */
export class StatementScope {
  readonly dialect: Dialect;
  #count = 0;

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  /** An alias that no other part of the statement has. The root of a statement has the name of its table. */
  nextAlias(): string {
    this.#count += 1;
    return `t${this.#count}`;
  }
}
