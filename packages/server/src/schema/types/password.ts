import { fieldType, operatorSets } from '../field-type.ts';

/** Hashed with argon2id before it is stored. No reply contains it in any form. */
export const passwordType = fieldType({
  name: 'password',
  storage: 'text',
  secret: true,
  sortable: false,
  operators: operatorSets.presence,
  validationSchema: () => ({ type: 'string', wellFormed: true, minLength: 8, maxLength: 1024 }),
});
