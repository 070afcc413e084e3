/** The trigrams of an operand: every text that matches contains them, after folding. */

import type { SearchOperator } from './search-index.ts';
import type { BindEnvironment, Param } from './sql.ts';
import { foldText } from './text-fold.ts';

/** More trigrams exclude hardly any further records, but each takes time to look up. */
const maxTrigrams = 16;

/** The distinct trigrams (by code points) that each matching text contains; at most 16, spread over the operand. */
export function listTrigrams(operator: SearchOperator, operand: string): string[] {
  const all = new Set<string>();
  for (const literal of listLiterals(operator, operand)) {
    const points = [...literal];
    for (let index = 0; index + 3 <= points.length; index += 1) all.add(points.slice(index, index + 3).join(''));
  }
  const trigrams = [...all];
  if (trigrams.length <= maxTrigrams) return trigrams;
  const step = (trigrams.length - 1) / (maxTrigrams - 1);
  return Array.from({ length: maxTrigrams }, (_, index) => trigrams[Math.round(index * step)]!);
}

/** The folded texts that each matching text contains, in this order. Folding is independent of neighbours. */
export function listLiterals(operator: SearchOperator, operand: string): string[] {
  const literals = operator === 'like' || operator === 'ilike' ? splitPattern(operand) : [operand];
  return literals.map(foldText).filter((each) => each !== '');
}

/** The parts of a pattern between its wildcards, without escapes. */
function splitPattern(pattern: string): string[] {
  const literals = [''];
  for (const [part] of pattern.matchAll(/\\[\s\S]|[\s\S]/g)) {
    if (part === '%' || part === '_') literals.push('');
    else literals.push(`${literals.pop() ?? ''}${part.length > 1 ? part.slice(1) : part}`);
  }
  return literals;
}

/** Whether an index can look up all operands of this run: each contains a trigram. */
export function readsTrigrams(tests: readonly { readonly operator: SearchOperator; readonly operand: Param }[]): Param {
  const hasTrigram = (operator: SearchOperator, operand: unknown): boolean =>
    typeof operand === 'string' && listTrigrams(operator, operand).length > 0;
  return {
    storage: 'boolean',
    read: (environment: BindEnvironment) =>
      tests.every(({ operator, operand }) => hasTrigram(operator, operand.read(environment))),
  };
}
