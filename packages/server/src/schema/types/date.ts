import { invalidOperand } from '../field-type.ts';
import { beginsWithDay, defineDateType } from './datetime.ts';

/**
 * A calendar day, `YYYY-MM-DD`, years 0001–9999. `autoNow` and `autoNowAdd` set the day in UTC; `dateOnly` has no
 * effect.
 */
export const dateType = defineDateType({
  name: 'date',
  storage: 'text',
  validationSchema: () => ({ type: 'string', format: 'date' }),
  // The clock returns date and time.
  read: (value) => canonicalDate((value as string).slice(0, 10)) ?? invalidOperand,
  readOperand: (value) => canonicalDate(value) ?? invalidOperand,
});

/** A date as `YYYY-MM-DD`, or null if the value is not a date. */
export function canonicalDate(value: unknown): string | null {
  return typeof value === 'string' && value.length === 10 && beginsWithDay(value) ? value : null;
}
