/** What kind of fields an operator fits; a misfit is 400. */
export type OperatorFamily = 'scalar' | 'text' | 'any' | 'boolean' | 'relation' | 'date' | 'array';

/** What an operator expects beside the field: one value, a list, a pair, a truth value, one period or the ends of one. */
export type OperandShape = 'one' | 'list' | 'pair' | 'flag' | 'period' | 'periods';

export interface Operator {
  readonly family: OperatorFamily;
  readonly operand: OperandShape;
  /** The operator of which this one is the exact complement: it keeps the rows where the field is null. */
  readonly complementOf?: string;
}

/** The filter operators of the wire, by their spelling. */
export const operators: Readonly<Record<string, Operator>> = {
  $eq: { family: 'scalar', operand: 'one' },
  $ne: { family: 'scalar', operand: 'one', complementOf: '$eq' },
  $gt: { family: 'scalar', operand: 'one' },
  $gte: { family: 'scalar', operand: 'one' },
  $lt: { family: 'scalar', operand: 'one' },
  $lte: { family: 'scalar', operand: 'one' },
  $between: { family: 'scalar', operand: 'pair' },
  $in: { family: 'scalar', operand: 'list' },
  $notIn: { family: 'scalar', operand: 'list', complementOf: '$in' },
  $like: { family: 'text', operand: 'one' },
  $notLike: { family: 'text', operand: 'one', complementOf: '$like' },
  $ilike: { family: 'text', operand: 'one' },
  $includes: { family: 'text', operand: 'one' },
  $notIncludes: { family: 'text', operand: 'one', complementOf: '$includes' },
  $startsWith: { family: 'text', operand: 'one' },
  $notStartsWith: { family: 'text', operand: 'one', complementOf: '$startsWith' },
  $endsWith: { family: 'text', operand: 'one' },
  $endWith: { family: 'text', operand: 'one' },
  $notEndsWith: { family: 'text', operand: 'one', complementOf: '$endsWith' },
  $empty: { family: 'any', operand: 'flag' },
  $notEmpty: { family: 'any', operand: 'flag', complementOf: '$empty' },
  $null: { family: 'any', operand: 'flag' },
  $notNull: { family: 'any', operand: 'flag', complementOf: '$null' },
  $exists: { family: 'relation', operand: 'flag' },
  $notExists: { family: 'relation', operand: 'flag', complementOf: '$exists' },
  $isTruly: { family: 'boolean', operand: 'flag' },
  $isFalsy: { family: 'boolean', operand: 'flag' },
  $dateOn: { family: 'date', operand: 'period' },
  $dateNotOn: { family: 'date', operand: 'period', complementOf: '$dateOn' },
  $dateBefore: { family: 'date', operand: 'period' },
  $dateNotBefore: { family: 'date', operand: 'period', complementOf: '$dateBefore' },
  $dateAfter: { family: 'date', operand: 'period' },
  $dateNotAfter: { family: 'date', operand: 'period', complementOf: '$dateAfter' },
  $dateBetween: { family: 'date', operand: 'periods' },
  $match: { family: 'array', operand: 'list' },
  $notMatch: { family: 'array', operand: 'list', complementOf: '$match' },
  $anyOf: { family: 'array', operand: 'list' },
  $noneOf: { family: 'array', operand: 'list', complementOf: '$anyOf' },
  $arrayEmpty: { family: 'array', operand: 'flag' },
  $arrayNotEmpty: { family: 'array', operand: 'flag', complementOf: '$arrayEmpty' },
};
