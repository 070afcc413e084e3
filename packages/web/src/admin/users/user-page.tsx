import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { RecordValues } from '@tablinum/client';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { User } from '../access/dto.ts';
import { UserForm } from './user-form.tsx';
import { getUserName } from './users-page.tsx';

export function UserPage(): ReactNode {
  const t = useAccessTexts().users;
  const app = useApplication();
  const { user: key = '' } = useParams({ strict: false });
  const user = useApiQuery(['users', 'one', key], (client, signal) =>
    client.records<User>('users').get(key, { appends: ['roles'] }, { signal }),
  );
  const above = (
    <TextLink to="/a/$app/access/users" params={{ app }}>
      {t.all}
    </TextLink>
  );
  return (
    <Page title={user.data ? getUserName(user.data) : key} above={above}>
      <QueryBoundary query={user} permission={{ resource: 'users', action: 'get' }}>
        {(data) => <UserContent key={`${data.id}`} user={data} />}
      </QueryBoundary>
    </Page>
  );
}

function UserContent({ user }: { user: User }): ReactNode {
  const t = useAccessTexts();
  const save = useApiMutation<unknown, RecordValues>({
    write: (client, values) => client.records('users').update(user.id, values),
    changes: ['users', 'check'],
    done: () => toast(t.saved),
  });
  return (
    <Stack gap="xl">
      {user.status === 'suspended' && (
        <Alert color="red" variant="light" icon={<Icon name="lock" />}>
          {t.users.suspendedNote}
        </Alert>
      )}
      <Section title={t.users.details} needs={{ resource: 'users', action: 'update' }}>
        <UserForm user={user} save={save.mutate} saving={save.isPending} error={save.error} />
      </Section>
      <SignIn user={user} />
      <Destroy user={user} />
    </Stack>
  );
}

function SignIn({ user }: { user: User }): ReactNode {
  const t = useAccessTexts().users;
  const name = getUserName(user);
  const setStatus = useActionMutation<unknown, User['status']>({
    write: (client, status) => client.records('users').update(user.id, { status }),
    changes: ['users'],
    done: (_, status) => toast(status === 'suspended' ? t.suspended(name) : t.activated(name)),
  });
  const reset = useActionMutation({
    write: (client) => client.auth.lostPassword(user.email ?? ''),
    changes: [],
    done: () => toast(t.resetSent),
  });
  const suspend = async (): Promise<void> => {
    const question = { title: t.suspendTitle(name), text: t.suspendText, confirmLabel: t.suspend, danger: true };
    if (await confirm(question)) await setStatus('suspended');
  };
  return (
    <Section title={t.signIn} needs={{ resource: 'users', action: 'update' }}>
      <Group gap="xs">
        {user.status === 'active' ? (
          <Button variant="light" color="red" leftSection={<Icon name="lock" />} onClick={() => void suspend()}>
            {t.suspend}
          </Button>
        ) : (
          <Button variant="default" leftSection={<Icon name="check" />} onClick={() => void setStatus('active')}>
            {t.activate}
          </Button>
        )}
        <Button
          variant="default"
          leftSection={<Icon name="send" />}
          disabled={user.email === null}
          onClick={() => void reset()}
        >
          {t.reset}
        </Button>
      </Group>
      {user.email === null && (
        <Text size="sm" c="dimmed" mt="xs">
          {t.resetNeedsEmail}
        </Text>
      )}
    </Section>
  );
}

function Destroy({ user }: { user: User }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const app = useApplication();
  const navigate = useNavigate();
  const { destroyTitle, destroyText, destroyed, dangerText } = access.users;
  const destroy = useApiMutation({
    write: (client) => client.records('users').destroy(user.id),
    changes: ['users'],
    done: async () => {
      toast(destroyed(getUserName(user)));
      await navigate({ to: '/a/$app/access/users', params: { app } });
    },
  });
  const confirmDestroy = async (): Promise<void> => {
    const question = {
      title: destroyTitle(getUserName(user)),
      text: destroyText,
      confirmLabel: t.common.destroy,
      danger: true,
    };
    if (await confirm(question)) destroy.mutate();
  };
  return (
    <DestroySection
      resource="users"
      text={dangerText}
      destroyLabel={t.common.destroy}
      destroy={() => void confirmDestroy()}
    >
      <FormProblem error={destroy.error} />
    </DestroySection>
  );
}
