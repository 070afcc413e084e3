/** Addresses of collections and records. Each page is a file of its own, loaded when it is first opened. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { applicationRoute } from './app-route.tsx';

const getParentRoute = (): typeof applicationRoute => applicationRoute;

export const dataRoutes = [
  createRoute({
    getParentRoute,
    path: 'data',
    component: lazyRouteComponent(() => import('../admin/collections/collections-page.tsx'), 'CollectionsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'data/$collection',
    component: lazyRouteComponent(() => import('../admin/records/records-page.tsx'), 'RecordsPage'),
  }),
] as const;
