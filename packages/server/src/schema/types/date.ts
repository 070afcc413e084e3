import { fieldType, invalidOperand, operatorSets, optionChecks } from '../field-type.ts';
import { canonicalDatetime } from './datetime.ts';

/** A day of the calendar, `YYYY-MM-DD`, years 0001–9999. `autoNow` and `autoNowAdd` take the day in UTC; `dateOnly` changes nothing. */
export const dateType = fieldType({
  name: 'date',
  storage: 'text',
  operators: operatorSets.date,
  options: { dateOnly: optionChecks.truth, autoNow: optionChecks.truth, autoNowAdd: optionChecks.truth },
  validationSchema: () => ({ type: 'string', format: 'date' }),
  // The clock comes as a moment.
  read: (value) => canonicalDate((value as string).slice(0, 10)) ?? invalidOperand,
  readOperand: (value) => canonicalDate(value) ?? invalidOperand,
});

/** A date as `YYYY-MM-DD`, or null if the value is not a date. */
export function canonicalDate(value: unknown): string | null {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && canonicalDatetime(value) ? value : null;
}
