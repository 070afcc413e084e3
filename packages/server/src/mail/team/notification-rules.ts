import { createPartRules } from '../rules/part-rules.ts';

/** Notifications are created by the server; their users mark them read and destroy them. */
export const notificationRules = {
  ...createPartRules({
    resource: 'mailNotifications',
    writable: ['read'],
    createCure: 'Notifications are created by the server, for example for users whom a note mentions.',
    updateCure: 'Only "read" can be changed.',
    destroyCure: null,
  }),
};
