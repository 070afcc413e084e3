/** The pages of an application for who is signed in there; for everybody else its sign-in, at the same address. */
import { Outlet } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { ApplicationProvider } from '../data/application.tsx';
import { useToken } from '../data/session.ts';
import { rememberApplication } from './last-application.ts';
import { SignIn } from './sign-in.tsx';

/** Asked for at once, and not waited for by the sign-in. */
const shell = import('./shell.tsx');
const Shell = lazy(async () => ({ default: (await shell).Shell }));

export function Gate({ application }: { application: string }): ReactNode {
  const token = useToken(application);
  rememberApplication(application);
  return (
    <ApplicationProvider key={application} name={application}>
      {token === null ? (
        <SignIn />
      ) : (
        <Suspense>
          <Shell>
            <Outlet />
          </Shell>
        </Suspense>
      )}
    </ApplicationProvider>
  );
}
