/** Pages of e-mail. */
export const inbox = {};
