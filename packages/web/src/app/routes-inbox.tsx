/** The routes of the inbox. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { parseProviderReply } from '../inbox/accounts/provider-reply.ts';
import { parseInboxSearch } from '../inbox/inbox-search.ts';
import { preloadInbox } from '../inbox/preload-inbox.ts';
import { applicationRoute } from './app-route.tsx';

export const inboxRoutes = [
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox',
    component: lazyRouteComponent(() => import('../inbox/inbox-page.tsx'), 'InboxPage'),
    validateSearch: parseInboxSearch,
    // Not awaited: the page shows what has arrived. Links under the pointer request nothing.
    loader: ({ params, location, cause }) => {
      if (cause === 'enter') void preloadInbox(params.app, parseInboxSearch(location.search)).catch(() => {});
    },
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/accounts',
    component: lazyRouteComponent(() => import('../inbox/accounts/accounts-page.tsx'), 'AccountsPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/accounts/new',
    component: lazyRouteComponent(() => import('../inbox/accounts/new-account-page.tsx'), 'NewAccountPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/accounts/sign-in',
    component: lazyRouteComponent(() => import('../inbox/accounts/finish-sign-in-page.tsx'), 'FinishSignInPage'),
    validateSearch: parseProviderReply,
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/accounts/$account',
    component: lazyRouteComponent(() => import('../inbox/accounts/account-page.tsx'), 'MailAccountPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/accounts/$account/rules',
    component: lazyRouteComponent(() => import('../inbox/rules/rules-page.tsx'), 'RulesPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/accounts/$account/templates',
    component: lazyRouteComponent(() => import('../inbox/templates/templates-page.tsx'), 'TemplatesPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/contacts',
    component: lazyRouteComponent(() => import('../inbox/contacts/contacts-page.tsx'), 'ContactsPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/campaigns',
    component: lazyRouteComponent(() => import('../inbox/campaigns/campaigns-page.tsx'), 'CampaignsPage'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/campaigns/$campaign',
    component: lazyRouteComponent(() => import('./campaign-route.tsx'), 'CampaignRoute'),
  }),
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox/reports',
    component: lazyRouteComponent(() => import('../inbox/reports/reports-page.tsx'), 'ReportsPage'),
  }),
] as const;
