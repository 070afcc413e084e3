import { Button, Stack, Text } from '@mantine/core';
import type { Application, RecordValues } from '@tablinum/client';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { Asked } from '../../data/problem.tsx';
import { useAsked } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { session } from '../../data/session.ts';
import { useAct } from '../../data/use-write.ts';
import { confirm } from '../../ui/confirm.tsx';
import { Facts } from '../../ui/facts.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Moment } from '../../ui/moment.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { ApplicationDetails } from './application-details.tsx';
import { ApplicationStatus, InMainOnly, mainName, useEnter } from './application-parts.tsx';

type Shown = Application &
  RecordValues & {
    readonly errorLog: readonly {
      readonly id: number;
      readonly at: string;
      readonly stage: string;
      readonly message: string;
    }[];
  };

/** One application: whether it runs, why not, and its end. */
export function ApplicationPage(): ReactNode {
  const t = useAccessTexts().applications;
  const app = useApplication();
  const { application: name = '' } = useParams({ strict: false });
  const shown = useAsked(
    ['applications', 'one', name],
    (client, signal) => client.records<Shown>('applications').get(name, { appends: ['errorLog'] }, { signal }),
    { enabled: app === mainName },
  );
  const above = (
    <TextLink to="/a/$app/access/applications" params={{ app }}>
      {t.all}
    </TextLink>
  );
  const actions = shown.data && shown.data.name !== mainName && <Actions application={shown.data} />;
  return (
    <Page title={shown.data?.displayName || name} above={above} actions={actions}>
      <InMainOnly>
        <Asked query={shown} asked={{ resource: 'applications', action: 'get' }}>
          {(data) => <Content key={data.name} application={data} />}
        </Asked>
      </InMainOnly>
    </Page>
  );
}

function Actions({ application: { name, status } }: { application: Application }): ReactNode {
  const t = useAccessTexts().applications;
  const may = useMay();
  const enter = useEnter();
  const start = useAct({
    write: (client) => client.applications().start(name),
    changes: ['applications'],
    done: () => toast(t.started(name)),
  });
  const stop = useAct({
    write: (client) => client.applications().stop(name),
    changes: ['applications'],
    done: () => toast(t.stopped(name)),
  });
  const askStop = async (): Promise<void> => {
    if (await confirm({ title: t.stopTitle(name), text: t.stopText, act: t.stop, danger: true })) await stop();
  };
  if (status === 'stopped' || status === 'failed')
    return may('applications', 'start') && <Button onClick={() => void start()}>{t.start}</Button>;
  return (
    <>
      {may('applications', 'stop') && (
        <Button variant="default" onClick={() => void askStop()}>
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

function Content({ application }: { application: Shown }): ReactNode {
  const t = useAccessTexts().applications;
  return (
    <Stack gap="xl">
      {application.name === mainName && <Text c="dimmed">{t.mainNote}</Text>}
      <Stack maw={520}>
        <Facts
          facts={[
            [
              'X-App',
              <span key="name" className="code">
                {application.name}
              </span>,
            ],
            [t.status, <ApplicationStatus key="status" status={application.status} />],
            [t.created, <Moment key="created" at={application.createdAt} />],
          ]}
        />
      </Stack>
      <ApplicationDetails application={application} />
      <Errors application={application} />
      {application.name !== mainName && <Destroy name={application.name} />}
    </Stack>
  );
}

function Errors({ application: { errorLog } }: { application: Shown }): ReactNode {
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
            { title: t.at, width: 180, show: (each) => <Moment at={each.at} /> },
            { title: t.stage, width: 140, show: (each) => each.stage },
            { title: t.message, show: (each) => each.message },
          ]}
        />
      )}
    </Section>
  );
}

function Destroy({ name }: { name: string }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { destroyTitle, destroyText, destroyed, destroy: act } = access.applications;
  const app = useApplication();
  const navigate = useNavigate();
  const destroy = useAct({
    write: (client) => client.applications().destroy(name, name),
    changes: ['applications'],
    done: async () => {
      session.forget(name);
      toast(destroyed(name));
      await navigate({ to: '/a/$app/access/applications', params: { app } });
    },
  });
  const ask = async (): Promise<void> => {
    const sure = { title: destroyTitle(name), text: destroyText, act: t.common.destroy, typed: name, danger: true };
    if (await confirm(sure)) await destroy();
  };
  return <DestroySection resource="applications" text={destroyText} act={act} destroy={() => void ask()} />;
}
