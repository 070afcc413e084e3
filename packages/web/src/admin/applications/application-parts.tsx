/** What the list of applications and the page of one share. */

import type { Application } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { enterApplication } from '../../data/browser-session.ts';
import { useAct } from '../../data/use-write.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { ButtonLink } from '../../ui/links.tsx';
import { Empty } from '../../ui/states.tsx';
import { StateBadge } from '../access/badges.tsx';

export const mainName = 'main';

export function ApplicationStatus({ status }: Pick<Application, 'status'>): ReactNode {
  const { statuses } = useAccessTexts().applications;
  const tone = ({ running: 'good', stopped: 'plain', starting: 'careful', failed: 'bad' } as const)[status];
  return <StateBadge tone={tone}>{statuses[status] ?? status}</StateBadge>;
}

/** Leads into another application, with a login of its own that the server gives an administrator of main. */
export function useEnter(): (name: string) => Promise<void> {
  const navigate = useNavigate();
  const here = useApplication();
  return useAct<void, string>({
    write: (_client, name) => enterApplication(name, here),
    changes: [],
    done: (_result, name) => navigate({ to: '/a/$app/data', params: { app: name } }),
  });
}

/** Elsewhere than in main there is nothing to manage. */
export function InMainOnly({ children }: { children?: ReactNode }): ReactNode {
  const t = useAccessTexts().applications;
  if (useApplication() === mainName) return children;
  return (
    <Empty icon="apps" title={t.mainOnly}>
      <ButtonLink to="/a/$app/access/applications" params={{ app: mainName }} variant="default">
        {t.toMain}
      </ButtonLink>
    </Empty>
  );
}
