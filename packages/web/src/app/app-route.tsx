/** The root routes: one for public pages, and one for the pages of an application, which require a sign-in. */
import { createRootRoute, createRoute, Outlet } from '@tanstack/react-router';
import { AuthGuard } from './auth-guard.tsx';
import { PageError } from './error-boundary.tsx';
import { NotFound } from './not-found.tsx';

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: PageError });

export const applicationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/a/$app',
  component: function ApplicationPages() {
    const { app } = applicationRoute.useParams();
    return <AuthGuard application={app} />;
  },
});
