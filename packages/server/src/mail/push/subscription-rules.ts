import { createPartRules } from '../rules/part-rules.ts';

/** Subscriptions are created by `mailPushSubscriptions:subscribe`; their users choose what is sent, and destroy them. */
export const pushSubscriptionRules = createPartRules({
  resource: 'mailPushSubscriptions',
  writable: ['name', 'newMail'],
  createCure: 'Subscribe a browser with mailPushSubscriptions:subscribe.',
  updateCure: 'Only "name" and "newMail" can be changed.',
  destroyCure: null,
});
