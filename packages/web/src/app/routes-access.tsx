/** The routes of roles, users, API keys, applications, webhooks, the audit journal, the activity of the server and the account. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { parseAuditSearch, parseDeliveriesSearch, parseUsersSearch } from '../admin/access/list-search.ts';
import { parseRoleSearch } from '../admin/roles/role-search.ts';
import { applicationRoute } from './app-route.tsx';

const getParentRoute = (): typeof applicationRoute => applicationRoute;

export const accessRoutes = [
  createRoute({
    getParentRoute,
    path: 'access/roles',
    component: lazyRouteComponent(() => import('../admin/roles/roles-page.tsx'), 'RolesPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/roles/$role',
    component: lazyRouteComponent(() => import('../admin/roles/role-page.tsx'), 'RolePage'),
    validateSearch: parseRoleSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'access/users',
    component: lazyRouteComponent(() => import('../admin/users/users-page.tsx'), 'UsersPage'),
    validateSearch: parseUsersSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'access/users/new',
    component: lazyRouteComponent(() => import('../admin/users/new-user-page.tsx'), 'NewUserPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/users/$user',
    component: lazyRouteComponent(() => import('../admin/users/user-page.tsx'), 'UserPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'account',
    component: lazyRouteComponent(() => import('../admin/users/account-page.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/keys',
    component: lazyRouteComponent(() => import('../admin/keys/keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/keys/$key',
    component: lazyRouteComponent(() => import('../admin/keys/key-page.tsx'), 'KeyPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/applications',
    component: lazyRouteComponent(() => import('../admin/applications/applications-page.tsx'), 'ApplicationsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/applications/$application',
    component: lazyRouteComponent(() => import('../admin/applications/application-page.tsx'), 'ApplicationPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/backups',
    component: lazyRouteComponent(() => import('../admin/backups/backups-page.tsx'), 'BackupsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/webhooks',
    component: lazyRouteComponent(() => import('../admin/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/webhooks/new',
    component: lazyRouteComponent(() => import('../admin/webhooks/new-webhook-page.tsx'), 'NewWebhookPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/webhooks/$webhook',
    component: lazyRouteComponent(() => import('../admin/webhooks/webhook-page.tsx'), 'WebhookPage'),
    validateSearch: parseDeliveriesSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'access/settings',
    component: lazyRouteComponent(() => import('../admin/settings/settings-page.tsx'), 'SettingsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/audit',
    component: lazyRouteComponent(() => import('../admin/audit/audit-page.tsx'), 'AuditPage'),
    validateSearch: parseAuditSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'access/activity',
    component: lazyRouteComponent(() => import('../admin/activity/activity-page.tsx'), 'ActivityPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'access/schema',
    component: lazyRouteComponent(() => import('../admin/schema/revisions-page.tsx'), 'RevisionsPage'),
  }),
] as const;
