import { fieldType, invalidOperand } from '../field-type.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID, version 7 where the server makes it; kept in lower case. */
export const uidType = fieldType({
  name: 'uid',
  storage: 'uuid',
  validationSchema: () => ({ type: 'string', format: 'uuid' }),
  read: (value) => (value as string).toLowerCase(),
  readOperand: (value) => (typeof value === 'string' && uuidPattern.test(value) ? value.toLowerCase() : invalidOperand),
});
