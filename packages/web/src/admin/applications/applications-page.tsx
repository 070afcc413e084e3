import { Button, Group, Switch, Text, TextInput } from '@mantine/core';
import type { Application } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { TitleFields } from '../access/title-fields.tsx';
import {
  ApplicationStatus,
  MainApplicationOnly,
  mainApplicationName,
  useEnterApplication,
} from './application-parts.tsx';
import { isMoving, MoveDialog, useNodeColumns, useNodes } from './node-moves.tsx';

/** Milliseconds between two reads while an application is moved to another node. */
const movingInterval = 1000;

/** The list of applications. It is only available in main. */
export function ApplicationsPage(): ReactNode {
  const t = useAccessTexts().applications;
  if (useApplication() === mainApplicationName) return <Applications />;
  return (
    <Page title={t.title} description={t.description}>
      <MainApplicationOnly />
    </Page>
  );
}

function Applications(): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.applications;
  const app = useApplication();
  const may = useMay();
  const enter = useEnterApplication();
  const applications = useApiQuery(['applications', 'page'], (client) => client.applications().list(), {
    refetchInterval: ({ state: { data } }) => (data?.some(isMoving) ? movingInterval : false),
  });
  const nodes = useNodes();
  const nodeColumns = useNodeColumns(nodes);
  const [moved, setMoved] = useState<Application | null>(null);
  return (
    <ListPage
      title={labels.title}
      description={labels.description}
      resource="applications"
      query={applications}
      create={{ label: labels.create, form: (close) => <NewApplication cancel={close} /> }}
      keyOf={(each) => each.name}
      columns={[
        {
          title: labels.name,
          render: (each) => (
            <TextLink to="/a/$app/access/applications/$application" params={{ app, application: each.name }} fw={500}>
              {each.displayName || each.name}
            </TextLink>
          ),
        },
        { title: 'X-App', render: (each) => <span className="code">{each.name}</span> },
        {
          title: t.common.description,
          render: (each) => (
            <Text size="sm" c="dimmed">
              {each.description}
            </Text>
          ),
        },
        { title: labels.status, render: (each) => <ApplicationStatus status={each.status} /> },
        ...nodeColumns,
        { title: labels.created, render: (each) => <DateTime value={each.createdAt} /> },
        {
          title: '',
          render: (each) =>
            each.name !== mainApplicationName && (
              <Group gap="xs" wrap="nowrap">
                {nodes.length > 0 && may('applications', 'move') && (
                  <Button size="compact-sm" variant="default" disabled={isMoving(each)} onClick={() => setMoved(each)}>
                    {labels.moveTo}
                    <span className="visually-hidden"> {each.name}</span>
                  </Button>
                )}
                {each.status !== 'stopped' && may('applications', 'enter') && (
                  <Button size="compact-sm" variant="default" onClick={() => void enter(each.name)}>
                    {labels.enter}
                    <span className="visually-hidden"> {each.name}</span>
                  </Button>
                )}
              </Group>
            ),
        },
      ]}
    >
      {moved && <MoveDialog application={moved} nodes={nodes} close={() => setMoved(null)} />}
    </ListPage>
  );
}

function NewApplication({ cancel }: { cancel: () => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.applications;
  const app = useApplication();
  const navigate = useNavigate();
  const [values, setValues] = useState({ name: '', displayName: '', description: '', autoStart: false });
  const create = useApiMutation({
    write: (client) => {
      const { name, displayName, description, autoStart } = values;
      const body = {
        name,
        displayName: emptyToNull(displayName),
        description: emptyToNull(description),
        options: { autoStart },
      };
      return client.post<Application>('applications:create', body);
    },
    changes: ['applications'],
    done: async ({ name }) => {
      toast(labels.createdToast(name));
      await navigate({ to: '/a/$app/access/applications/$application', params: { app, application: name } });
    },
  });
  const problems = getErrorDetails(create.error);
  return (
    <DialogForm write={create} submitLabel={t.common.create} cancel={cancel}>
      <TextInput
        label={labels.name}
        description={labels.nameHint}
        value={values.name}
        onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        error={problems['name']}
        required
        data-autofocus
      />
      <TitleFields
        label={labels.displayName}
        title={values.displayName}
        description={values.description}
        problem={problems['displayName']}
        changeTitle={(displayName) => setValues({ ...values, displayName })}
        changeDescription={(description) => setValues({ ...values, description })}
      />
      <Switch
        label={labels.autoStart}
        description={labels.autoStartHint}
        checked={values.autoStart}
        onChange={(event) => setValues({ ...values, autoStart: event.currentTarget.checked })}
      />
    </DialogForm>
  );
}
