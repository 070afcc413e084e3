/** Parts that the list of applications and the page of one application share. */

import type { Application } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { enterApplication } from '../../data/browser-session.ts';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { ButtonLink } from '../../ui/links.tsx';
import { Empty } from '../../ui/states.tsx';
import { StateBadge } from '../access/badges.tsx';

export const mainApplicationName = 'main';

export function ApplicationStatus({ status }: Pick<Application, 'status'>): ReactNode {
  const { statuses } = useAccessTexts().applications;
  const tone = ({ running: 'good', stopped: 'plain', starting: 'careful', failed: 'bad' } as const)[status];
  return <StateBadge tone={tone}>{statuses[status] ?? status}</StateBadge>;
}

/** Opens another application. The server creates a session there for an administrator of main. */
export function useEnterApplication(): (name: string) => Promise<void> {
  const navigate = useNavigate();
  const currentApplication = useApplication();
  return useActionMutation<void, string>({
    write: (_client, name) => enterApplication(name, currentApplication),
    changes: [],
    done: (_result, name) => navigate({ to: '/a/$app/data', params: { app: name } }),
  });
}

/** Shown in other applications than main: applications are only managed in main. */
export function MainApplicationOnly({ children }: { children?: ReactNode }): ReactNode {
  const t = useAccessTexts().applications;
  if (useApplication() === mainApplicationName) return children;
  return (
    <Empty icon="apps" title={t.mainOnly}>
      <ButtonLink to="/a/$app/access/applications" params={{ app: mainApplicationName }} variant="default">
        {t.toMain}
      </ButtonLink>
    </Empty>
  );
}
