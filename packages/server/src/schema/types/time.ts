import { fieldType, invalidOperand, optionChecks } from '../field-type.ts';

const pattern = /^(?:\d{4}-\d{2}-\d{2}T)?([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?Z?$/;

/** A time of day, `HH:mm:ss`, with `.SSS` if there are milliseconds. `autoNow` and `autoNowAdd` set it in UTC. */
export const timeType = fieldType({
  name: 'time',
  storage: 'text',
  options: { dateOnly: refuseDateOnly, autoNow: optionChecks.truth, autoNowAdd: optionChecks.truth },
  validationSchema: () => ({ type: 'string', format: 'time' }),
  // The clock returns date and time.
  read: (value) => canonical(value) ?? invalidOperand,
  readOperand: (value) => canonicalTime(value) ?? invalidOperand,
});

function refuseDateOnly(value: unknown): string | null {
  if (value === true) return 'A time field cannot be "dateOnly". Give false, or use the type "date".';
  return optionChecks.truth(value);
}

/** A time without date or zone, otherwise null. */
export function canonicalTime(value: unknown): string | null {
  return typeof value === 'string' && /^[\d:.]+$/.test(value) ? canonical(value) : null;
}

function canonical(value: unknown): string | null {
  const match = typeof value === 'string' ? pattern.exec(value) : null;
  if (!match) return null;
  const [, hour, minute, second = '00', fraction = ''] = match;
  const milliseconds = fraction.padEnd(3, '0');
  return `${hour}:${minute}:${second}${milliseconds === '000' ? '' : `.${milliseconds}`}`;
}
