/** The variables that templates of messages may contain. */
export const templateVariables = [
  'recipientName',
  'recipientFirstName',
  'recipientAddress',
  'conversationSubject',
  'accountName',
  'accountAddress',
  'userName',
  'userEmail',
] as const;

export type TemplateVariable = (typeof templateVariables)[number];
