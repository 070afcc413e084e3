import { Button, Switch, Text, TextInput } from '@mantine/core';
import type { Application } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { useAsked } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { detailsOf, orNull, useWrite } from '../../data/use-write.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Moment } from '../../ui/moment.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { TitleFields } from '../access/title-fields.tsx';
import { ApplicationStatus, InMainOnly, mainName, useEnter } from './application-parts.tsx';

/** The applications of this server, managed in main. */
export function ApplicationsPage(): ReactNode {
  const t = useAccessTexts().applications;
  if (useApplication() === mainName) return <Applications />;
  return (
    <Page title={t.title} description={t.description}>
      <InMainOnly />
    </Page>
  );
}

function Applications(): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const words = access.applications;
  const app = useApplication();
  const may = useMay();
  const enter = useEnter();
  const applications = useAsked(['applications', 'page'], (client) => client.applications().list());
  return (
    <ListPage
      title={words.title}
      description={words.description}
      resource="applications"
      query={applications}
      create={{ label: words.create, form: (close) => <NewApplication cancel={close} /> }}
      keyOf={(each) => each.name}
      columns={[
        {
          title: words.name,
          show: (each) => (
            <TextLink to="/a/$app/access/applications/$application" params={{ app, application: each.name }} fw={500}>
              {each.displayName || each.name}
            </TextLink>
          ),
        },
        { title: 'X-App', show: (each) => <span className="code">{each.name}</span> },
        {
          title: t.common.description,
          show: (each) => (
            <Text size="sm" c="dimmed">
              {each.description}
            </Text>
          ),
        },
        { title: words.status, show: (each) => <ApplicationStatus status={each.status} /> },
        { title: words.created, show: (each) => <Moment at={each.createdAt} /> },
        {
          title: '',
          show: (each) =>
            each.name !== mainName &&
            each.status !== 'stopped' &&
            may('applications', 'enter') && (
              <Button size="compact-sm" variant="default" onClick={() => void enter(each.name)}>
                {words.enter}
                <span className="visually-hidden"> {each.name}</span>
              </Button>
            ),
        },
      ]}
    />
  );
}

function NewApplication({ cancel }: { cancel: () => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const words = access.applications;
  const app = useApplication();
  const navigate = useNavigate();
  const [values, setValues] = useState({ name: '', displayName: '', description: '', autoStart: false });
  const create = useWrite({
    write: (client) => {
      const { name, displayName, description, autoStart } = values;
      const body = { name, displayName: orNull(displayName), description: orNull(description), options: { autoStart } };
      return client.post<Application>('applications:create', body);
    },
    changes: ['applications'],
    done: async ({ name }) => {
      toast(words.createdToast(name));
      await navigate({ to: '/a/$app/access/applications/$application', params: { app, application: name } });
    },
  });
  const problems = detailsOf(create.error);
  return (
    <DialogForm write={create} act={t.common.create} cancel={cancel}>
      <TextInput
        label={words.name}
        description={words.nameHint}
        value={values.name}
        onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        error={problems['name']}
        required
        data-autofocus
      />
      <TitleFields
        label={words.displayName}
        title={values.displayName}
        description={values.description}
        problem={problems['displayName']}
        changeTitle={(displayName) => setValues({ ...values, displayName })}
        changeDescription={(description) => setValues({ ...values, description })}
      />
      <Switch
        label={words.autoStart}
        description={words.autoStartHint}
        checked={values.autoStart}
        onChange={(event) => setValues({ ...values, autoStart: event.currentTarget.checked })}
      />
    </DialogForm>
  );
}
