/** Pages of roles, users, keys, applications, webhooks and the audit journal. */
export const access = {};
