/** The states of a conversation. `snoozed` ends at a time; a received e-mail opens any of the others. */
export const conversationStates = ['open', 'closed', 'snoozed', 'archived'] as const;
