import { Button, Stack, Text } from '@mantine/core';
import type { Application, RecordValues } from '@tablinum/client';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { session } from '../../data/session.ts';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { ApplicationDetails } from './application-details.tsx';
import {
  ApplicationStatus,
  MainApplicationOnly,
  mainApplicationName,
  useEnterApplication,
} from './application-parts.tsx';

type ApplicationWithErrors = Application &
  RecordValues & {
    readonly errorLog: readonly {
      readonly id: number;
      readonly at: string;
      readonly stage: string;
      readonly message: string;
    }[];
  };

/** The page of one application: its state, its errors, its settings, and the button that deletes it. */
export function ApplicationPage(): ReactNode {
  const t = useAccessTexts().applications;
  const app = useApplication();
  const { application: name = '' } = useParams({ strict: false });
  const applicationQuery = useApiQuery(
    ['applications', 'one', name],
    (client, signal) =>
      client.records<ApplicationWithErrors>('applications').get(name, { appends: ['errorLog'] }, { signal }),
    { enabled: app === mainApplicationName },
  );
  const above = (
    <TextLink to="/a/$app/access/applications" params={{ app }}>
      {t.all}
    </TextLink>
  );
  const actions = applicationQuery.data && applicationQuery.data.name !== mainApplicationName && (
    <Actions application={applicationQuery.data} />
  );
  return (
    <Page title={applicationQuery.data?.displayName || name} above={above} actions={actions}>
      <MainApplicationOnly>
        <QueryBoundary query={applicationQuery} permission={{ resource: 'applications', action: 'get' }}>
          {(data) => <Content key={data.name} application={data} />}
        </QueryBoundary>
      </MainApplicationOnly>
    </Page>
  );
}

function Actions({ application: { name, status } }: { application: Application }): ReactNode {
  const t = useAccessTexts().applications;
  const may = useMay();
  const enter = useEnterApplication();
  const start = useActionMutation({
    write: (client) => client.applications().start(name),
    changes: ['applications'],
    done: () => toast(t.started(name)),
  });
  const stop = useActionMutation({
    write: (client) => client.applications().stop(name),
    changes: ['applications'],
    done: () => toast(t.stopped(name)),
  });
  const confirmStop = async (): Promise<void> => {
    if (await confirm({ title: t.stopTitle(name), text: t.stopText, confirmLabel: t.stop, danger: true })) await stop();
  };
  if (status === 'stopped' || status === 'failed')
    return may('applications', 'start') && <Button onClick={() => void start()}>{t.start}</Button>;
  return (
    <>
      {may('applications', 'stop') && (
        <Button variant="default" onClick={() => void confirmStop()}>
          {t.stop}
        </Button>
      )}
      {may('applications', 'enter') && (
        <Button onClick={() => void enter(name)} rightSection={<Icon name="chevronRight" />}>
          {t.enter}
        </Button>
      )}
    </>
  );
}

function Content({ application }: { application: ApplicationWithErrors }): ReactNode {
  const t = useAccessTexts().applications;
  return (
    <Stack gap="xl">
      {application.name === mainApplicationName && <Text c="dimmed">{t.mainNote}</Text>}
      <Stack maw={520}>
        <DescriptionList
          items={[
            [
              'X-App',
              <span key="name" className="code">
                {application.name}
              </span>,
            ],
            [t.status, <ApplicationStatus key="status" status={application.status} />],
            [t.created, <DateTime key="created" value={application.createdAt} />],
          ]}
        />
      </Stack>
      <ApplicationDetails application={application} />
      <Errors application={application} />
      {application.name !== mainApplicationName && <Destroy name={application.name} />}
    </Stack>
  );
}

function Errors({ application: { errorLog } }: { application: ApplicationWithErrors }): ReactNode {
  const t = useAccessTexts().applications;
  return (
    <Section title={t.errors}>
      {errorLog.length === 0 ? (
        <Text c="dimmed">{t.noErrors}</Text>
      ) : (
        <ListTable
          label={t.errors}
          rows={[...errorLog].sort((a, b) => b.id - a.id)}
          keyOf={(each) => each.id}
          columns={[
            { title: t.at, width: 180, render: (each) => <DateTime value={each.at} /> },
            { title: t.stage, width: 140, render: (each) => each.stage },
            { title: t.message, render: (each) => each.message },
          ]}
        />
      )}
    </Section>
  );
}

function Destroy({ name }: { name: string }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { destroyTitle, destroyText, destroyed, destroy: destroyLabel } = access.applications;
  const app = useApplication();
  const navigate = useNavigate();
  const destroy = useActionMutation({
    write: (client) => client.applications().destroy(name, name),
    changes: ['applications'],
    done: async () => {
      session.clear(name);
      toast(destroyed(name));
      await navigate({ to: '/a/$app/access/applications', params: { app } });
    },
  });
  const confirmDestroy = async (): Promise<void> => {
    const question = {
      title: destroyTitle(name),
      text: destroyText,
      confirmLabel: t.common.destroy,
      typed: name,
      danger: true,
    };
    if (await confirm(question)) await destroy();
  };
  return (
    <DestroySection
      resource="applications"
      text={destroyText}
      destroyLabel={destroyLabel}
      destroy={() => void confirmDestroy()}
    />
  );
}
