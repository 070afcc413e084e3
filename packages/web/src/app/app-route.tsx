/** The roots of all pages: those for everybody, and those of an application, behind its sign-in. */
import { createRootRoute, createRoute, Outlet } from '@tanstack/react-router';
import { Broken } from './error-boundary.tsx';
import { Gate } from './gate.tsx';
import { Lost } from './lost.tsx';

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: Lost, errorComponent: Broken });

export const applicationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/a/$app',
  component: function ApplicationPages() {
    const { app } = applicationRoute.useParams();
    return <Gate application={app} />;
  },
});
