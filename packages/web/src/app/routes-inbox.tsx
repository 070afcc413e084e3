/** Addresses of the inbox. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { inboxSearch } from '../inbox/inbox-search.ts';
import { applicationRoute } from './app-route.tsx';

export const inboxRoutes = [
  createRoute({
    getParentRoute: () => applicationRoute,
    path: 'inbox',
    component: lazyRouteComponent(() => import('../inbox/inbox-page.tsx'), 'InboxPage'),
    validateSearch: inboxSearch,
  }),
] as const;
