/** The roots of all pages: those for everybody, and those of an application, behind its sign-in. */
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
