/** Shows the pages of an application to signed-in users, and the sign-in page to everybody else at the same URL. */
import { Outlet } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { ApplicationProvider } from '../data/application.tsx';
import { resumeSession } from '../data/browser-session.ts';
import { useServerUnreachable } from '../data/reachability.ts';
import { useLoginGeneration, useLoginState } from '../data/session.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Empty } from '../ui/states.tsx';
import { rememberApplication } from './last-application.ts';
import { SignIn } from './sign-in.tsx';
import { SignInAgain } from './sign-in-again.tsx';

/** Starts loading at once; the sign-in page does not wait for it. */
const shellModule = import('./shell.tsx');
const LazyShell = lazy(async () => ({ default: (await shellModule).Shell }));
/** The frame, once it is loaded: rendering it without `lazy` avoids a fallback, after which React waits 300 ms. */
let LoadedShell: typeof LazyShell | ((props: { children: ReactNode }) => ReactNode) = LazyShell;
shellModule.then(
  ({ Shell }) => {
    LoadedShell = Shell;
  },
  () => {}, // the lazy component throws the error
);

function Frame({ children }: { children: ReactNode }): ReactNode {
  // Chosen once: another component would mount the page again.
  const [Shell] = useState(() => LoadedShell);
  return <Shell>{children}</Shell>;
}

export function AuthGuard({ application }: { application: string }): ReactNode {
  const state = useLoginState(application);
  const generation = useLoginGeneration(application);
  const isUnreachable = useServerUnreachable();
  const t = useTexts().common.problem;
  rememberApplication(application);
  useEffect(() => {
    if (state === 'unknown') void resumeSession(application);
  }, [state, application]);
  if (state === 'unknown')
    return isUnreachable ? <Empty icon="offline" title={t.offlineTitle} text={t.offline} /> : null;
  return (
    <ApplicationProvider key={application} name={application}>
      {state === 'none' ? (
        <SignIn />
      ) : (
        <Suspense key={generation}>
          <Frame>
            <Outlet />
          </Frame>
          {state === 'expired' && <SignInAgain />}
        </Suspense>
      )}
    </ApplicationProvider>
  );
}
