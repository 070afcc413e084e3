/** The `status` of a deleted account until everything in it is deleted too. Requests cannot see such an account. */
export const deletingStatus = 'destroying';

/** Version of the rules that build conversations. Accounts with a lower version are rebuilt when their application is opened. */
export const threadsVersion = 3;

/**
 * Version of the lists of an account's correspondents and contacts. They are completed in the background for accounts with a lower
 * version. 2: contacts.
 */
export const correspondentsVersion = 2;
