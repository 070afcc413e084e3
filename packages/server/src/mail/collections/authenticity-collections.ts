/** Internal collections of the checks of received mail: messages to be checked, and the people whom an account writes with. */
import { accountField, defineFlag, defineInternalCollection, keyField, waitingEmailFields } from './mail-fields.ts';

/** E-mails whose authenticity is still to be checked. */
export const mailChecks = defineInternalCollection('mailChecks', 'E-mails whose sender is to be verified', {
  fields: waitingEmailFields,
});

/** Addresses that an account received mail from or sent mail to. */
export const mailCorrespondents = defineInternalCollection('mailCorrespondents', 'Correspondents of an account', {
  indexes: [
    { fields: ['accountId', 'address'], unique: true },
    { fields: ['accountId', 'domain'] },
    { fields: ['accountId', 'written', 'domain'] },
  ],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    // In lower case.
    { name: 'address', type: 'string', maxLength: 320 },
    // Its base domain.
    { name: 'domain', type: 'string', maxLength: 255 },
    // The oldest stored e-mail from the address. It may be deleted since.
    { name: 'firstEmailId', type: 'bigInt' },
    // Whether the account has written to the address.
    defineFlag('written'),
    // Whether a message from the address was verified.
    defineFlag('verified'),
  ],
});
