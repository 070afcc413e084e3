import { createRoute, createRouter, redirect } from '@tanstack/react-router';
import { parseProviderReply } from '../inbox/accounts/provider-reply.ts';
import { getSignInApplication } from '../inbox/accounts/provider-sign-in.ts';
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
/** The page to which mail providers send the browser back, whatever the application. */
const mailSignInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/mail-sign-in',
  beforeLoad: () => {
    const params = { app: getSignInApplication() ?? getLastApplication() };
    // The search parameters of the router are not used, because they parse a code that looks like a number as one.
    const search = parseProviderReply(Object.fromEntries(new URLSearchParams(location.search)));
    throw redirect({ to: '/a/$app/inbox/accounts/sign-in', params, search, replace: true });
  },
});
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
  mailSignInRoute,
  applicationRoute.addChildren([applicationHomeRoute, ...dataRoutes, ...accessRoutes, ...inboxRoutes, notFoundRoute]),
]);

export const router = createRouter({ routeTree: tree, defaultPreload: 'intent', scrollRestoration: true });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
