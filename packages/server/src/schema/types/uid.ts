import { fieldType, invalidOperand } from '../field-type.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID, stored in lower case. The server generates version 7. */
export const uidType = fieldType({
  name: 'uid',
  storage: 'uuid',
  validationSchema: () => ({ type: 'string', format: 'uuid' }),
  read: (value) => (value as string).toLowerCase(),
  readOperand: (value) => (typeof value === 'string' && uuidPattern.test(value) ? value.toLowerCase() : invalidOperand),
});
