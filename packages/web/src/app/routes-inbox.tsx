/** Addresses of the inbox. */
export const inboxRoutes = [] as const;
