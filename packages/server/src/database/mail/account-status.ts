/** The `status` of a deleted account until everything in it is deleted too. Nobody sees such an account. */
export const deletingStatus = 'destroying';

/** Version of the rules that build conversations. Accounts with a lower version are rebuilt when their application is opened. */
export const threadsVersion = 1;
