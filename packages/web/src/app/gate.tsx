/** The pages of an application for who is signed in there; for everybody else its sign-in, at the same address. */
import { Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApplicationProvider } from '../data/application.tsx';
import { useToken } from '../data/session.ts';
import { rememberApplication } from './last-application.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

export function Gate({ application }: { application: string }): ReactNode {
  const token = useToken(application);
  rememberApplication(application);
  return (
    <ApplicationProvider key={application} name={application}>
      {token === null ? (
        <SignIn />
      ) : (
        <Shell>
          <Outlet />
        </Shell>
      )}
    </ApplicationProvider>
  );
}
