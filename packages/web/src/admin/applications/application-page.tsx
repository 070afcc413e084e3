import { Button, Group, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import type { Application, RecordValues } from '@tablinum/client';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Asked, FormProblem } from '../../data/problem.tsx';
import { useAsked } from '../../data/queries.ts';
import { session } from '../../data/session.ts';
import { detailsOf, orNull, useAct, useWrite } from '../../data/use-write.ts';
import { confirm } from '../../ui/confirm.tsx';
import { DestroySection } from '../../ui/destroy-section.tsx';
import { Facts } from '../../ui/facts.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Moment } from '../../ui/moment.tsx';
import { Page } from '../../ui/page.tsx';
import { Section } from '../../ui/section.tsx';
import { toast } from '../../ui/toasts.tsx';
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
  const t = useTexts().access.applications;
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
  const t = useTexts().access.applications;
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
  if (status === 'stopped' || status === 'failed') return <Button onClick={() => void start()}>{t.start}</Button>;
  return (
    <>
      <Button variant="default" onClick={() => void askStop()}>
        {t.stop}
      </Button>
      <Button onClick={() => void enter(name)} rightSection={<Icon name="chevronRight" />}>
        {t.enter}
      </Button>
    </>
  );
}

function Content({ application }: { application: Shown }): ReactNode {
  const t = useTexts().access.applications;
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
      <Details application={application} />
      <Errors application={application} />
      {application.name !== mainName && <Destroy name={application.name} />}
    </Stack>
  );
}

function Details({ application }: { application: Shown }): ReactNode {
  const t = useTexts();
  const words = t.access.applications;
  const { name, displayName, description, options } = application;
  const [values, setValues] = useState({
    displayName: displayName ?? '',
    description: description ?? '',
    autoStart: options['autoStart'] === true,
  });
  const save = useWrite({
    write: (client) =>
      client.records('applications').update(name, {
        displayName: orNull(values.displayName),
        description: orNull(values.description),
        ...(name !== mainName && { options: { ...options, autoStart: values.autoStart } }),
      }),
    changes: ['applications'],
    done: () => toast(t.access.saved),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Section title={words.details}>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <TextInput
            label={words.displayName}
            value={values.displayName}
            onChange={(event) => setValues({ ...values, displayName: event.currentTarget.value })}
            error={detailsOf(save.error)['displayName']}
          />
          <Textarea
            label={t.common.description}
            value={values.description}
            onChange={(event) => setValues({ ...values, description: event.currentTarget.value })}
            autosize
            minRows={2}
          />
          {name !== mainName && (
            <Switch
              label={words.autoStart}
              description={words.autoStartHint}
              checked={values.autoStart}
              onChange={(event) => setValues({ ...values, autoStart: event.currentTarget.checked })}
            />
          )}
          <FormProblem error={save.error} />
          <Group>
            <Button type="submit" variant="default" loading={save.isPending}>
              {t.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Errors({ application: { errorLog } }: { application: Shown }): ReactNode {
  const t = useTexts().access.applications;
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
  const { destroyTitle, destroyText, destroyed, destroy: act } = t.access.applications;
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
  return <DestroySection text={destroyText} act={act} destroy={() => void ask()} />;
}
