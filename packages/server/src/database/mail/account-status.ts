/** The `status` of a deleted account until everything in it is deleted too. Requests cannot see such an account. */
export const deletingStatus = 'destroying';

/** Version of the rules that build conversations. Accounts with a lower version are rebuilt when their application is opened. */
export const threadsVersion = 3;

/** Version of the list of an account's correspondents. It is completed in the background for accounts with a lower version. */
export const correspondentsVersion = 1;
