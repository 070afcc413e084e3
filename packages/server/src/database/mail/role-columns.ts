import type { RoleColumn } from '../role-rows.ts';

/** The columns of mail that hold names of roles as text: in which role a rule, a campaign or a subscription acts. */
export const mailRoleColumns: readonly RoleColumn[] = [
  { table: 'mailRules', column: 'role' },
  { table: 'mailCampaigns', column: 'role' },
  { table: 'mailPushSubscriptions', column: 'role' },
];
