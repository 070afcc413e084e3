import { createRoute, createRouter, redirect } from '@tanstack/react-router';
import { applicationRoute, rootRoute } from './app-route.tsx';
import { getLastApplication } from './last-application.ts';
import { NotFound } from './not-found.tsx';
import { ResetPassword } from './reset-password.tsx';
import { accessRoutes } from './routes-access.tsx';
import { dataRoutes } from './routes-data.tsx';
import { inboxRoutes } from './routes-inbox.tsx';
import { Setup } from './setup.tsx';

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/a/$app/data', params: { app: getLastApplication() } });
  },
});
const setupRoute = createRoute({ getParentRoute: () => rootRoute, path: '/setup', component: Setup });
const resetRoute = createRoute({ getParentRoute: () => rootRoute, path: '/reset-password', component: ResetPassword });
const applicationHomeRoute = createRoute({
  getParentRoute: () => applicationRoute,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/a/$app/data', params: params as { app: string } });
  },
});
/** Unknown URLs of an application are shown inside its shell. */
const notFoundRoute = createRoute({ getParentRoute: () => applicationRoute, path: '$', component: NotFound });

const tree = rootRoute.addChildren([
  homeRoute,
  setupRoute,
  resetRoute,
  applicationRoute.addChildren([applicationHomeRoute, ...dataRoutes, ...accessRoutes, ...inboxRoutes, notFoundRoute]),
]);

export const router = createRouter({ routeTree: tree, defaultPreload: 'intent', scrollRestoration: true });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
