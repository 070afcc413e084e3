/** The collections of mail that requests can name. */
export const mailResources = [
  'accounts',
  'mailboxes',
  'emails',
  'conversations',
  'attachments',
  'mailRules',
  'mailCampaigns',
  'mailCampaignMessages',
  'mailSuppressions',
  'mailTemplates',
  'conversationNotes',
  'mailNotifications',
  'mailSavedSearches',
  'contacts',
  'contactGroups',
  'mailPushSubscriptions',
] as const;

const names: ReadonlySet<string> = new Set(mailResources);

/** Whether a resource is one of mail; only these have plain paths (`GET /api/<resource>/<id>`). */
export function isMailResource(name: string): boolean {
  return names.has(name);
}
