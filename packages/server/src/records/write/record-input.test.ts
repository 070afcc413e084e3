import { expect, test } from 'vitest';
import { countTurns } from '../../../test/support/event-loop-turns.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { type CheckedRecord, checkEach } from './record-input.ts';

const check = (input: unknown): CheckedRecord => ({ values: { value: input }, named: ['value'] });

test('other requests are processed while a long list is checked', async () => {
  const inputs = Array.from({ length: 300 }, (_, index) => index);
  let checked: readonly CheckedRecord[] = [];
  const turns = await countTurns(async () => {
    checked = await checkEach(inputs, check);
  });
  expect(turns).toBeGreaterThanOrEqual(50);
  expect(checked.map(({ values }) => values['value'])).toEqual(inputs);
});

test('the problems of all bodies are reported with their positions, and other errors immediately', async () => {
  const refuse = (input: unknown): CheckedRecord => {
    if (input === 'invalid') throw invalidValues({ name: 'Give a text.' });
    if (input === 'denied') throw new ApiError('FIELD_DENIED', 'The role may not write "name".');
    return check(input);
  };
  await expect(checkEach(['invalid', 1, 'invalid'], refuse)).rejects.toMatchObject({
    code: 'VALUE_INVALID',
    details: { '[0].name': 'Give a text.', '[2].name': 'Give a text.' },
  });
  await expect(checkEach(['invalid', 'denied'], refuse)).rejects.toMatchObject({ code: 'FIELD_DENIED' });
});
