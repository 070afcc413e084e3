/** The account page of the current user: profile, password, and sessions. */
import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import type { CallerInfo, Session } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery, useCheck } from '../../data/queries.ts';
import { useOwnRoleTitle } from '../../data/role-title.ts';
import { useSchema } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { emptyToNull, getErrorDetails, useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { NameBadges, StateBadge } from '../access/badges.tsx';

export function AccountPage(): ReactNode {
  const t = useAccessTexts().account;
  const check = useCheck();
  return (
    <Page title={t.title}>
      <QueryBoundary query={check}>
        {(data) => (
          <Stack gap="xl">
            <Profile check={data} />
            <Password />
            <Sessions />
          </Stack>
        )}
      </QueryBoundary>
    </Page>
  );
}

function Profile({ check }: { check: CallerInfo }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.account;
  const { data: schema } = useSchema();
  const roleTitle = useOwnRoleTitle();
  const [nickname, setNickname] = useState(check.nickname ?? '');
  const save = useApiMutation({
    write: (client) => client.records('users').update(check.id!, { nickname: emptyToNull(nickname) }),
    changes: ['check', 'users'],
    done: () => toast(access.saved),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const entries = [
    ...(check.id === null ? [] : [[labels.id, check.id] as const]),
    [access.users.email, check.email ?? '–'] as const,
    [labels.roles, <NameBadges key="roles" names={check.roles.map(roleTitle)} />] as const,
    [labels.role, roleTitle(check.currentRole)] as const,
  ];
  return (
    <Section title={labels.profile} text={labels.profileFixed}>
      <Stack maw={520}>
        <DescriptionList items={entries} />
        {check.id !== null && schema?.may('users', 'update') && (
          <form onSubmit={submit}>
            <Stack gap="sm">
              <TextInput
                label={access.users.nickname}
                description={labels.nicknameHint}
                value={nickname}
                onChange={(event) => setNickname(event.currentTarget.value)}
                error={getErrorDetails(save.error)['nickname']}
                autoComplete="nickname"
              />
              <FormProblem error={save.error} />
              <Group>
                <Button type="submit" variant="default" loading={save.isPending}>
                  {t.common.save}
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Stack>
    </Section>
  );
}

const blank = { old: '', fresh: '', again: '' };

function Password(): ReactNode {
  const t = useAccessTexts().account;
  const [given, setGiven] = useState(blank);
  const change = useApiMutation({
    write: (client) => client.auth.changePassword({ oldPassword: given.old, newPassword: given.fresh }),
    changes: ['sessions'],
    done: () => {
      setGiven(blank);
      toast(t.changed);
    },
  });
  const differ = given.again !== '' && given.again !== given.fresh;
  const problems = getErrorDetails(change.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (given.again === given.fresh) change.mutate();
  };
  return (
    <Section title={t.password}>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <PasswordInput
            label={t.old}
            value={given.old}
            onChange={(event) => setGiven({ ...given, old: event.currentTarget.value })}
            error={problems['oldPassword']}
            autoComplete="current-password"
            required
          />
          <PasswordInput
            label={t.fresh}
            value={given.fresh}
            onChange={(event) => setGiven({ ...given, fresh: event.currentTarget.value })}
            error={problems['newPassword']}
            autoComplete="new-password"
            required
          />
          <PasswordInput
            label={t.again}
            value={given.again}
            onChange={(event) => setGiven({ ...given, again: event.currentTarget.value })}
            error={differ ? t.differ : undefined}
            autoComplete="new-password"
            required
          />
          <FormProblem error={change.error} />
          <Group>
            <Button type="submit" variant="default" loading={change.isPending}>
              {t.change}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Sessions(): ReactNode {
  const t = useAccessTexts().account;
  const sessions = useApiQuery(['sessions'], (client) => client.auth.sessions());
  const endOtherSessions = useActionMutation({
    write: (client) => client.auth.endOtherSessions(),
    changes: ['sessions'],
    done: (count) => toast(t.othersEnded(count)),
  });
  const hasSeveralSessions = (sessions.data?.length ?? 0) > 1;
  const actions = hasSeveralSessions && (
    <Button variant="light" color="red" onClick={() => void endOtherSessions()}>
      {t.endOthers}
    </Button>
  );
  return (
    <Section title={t.sessions} text={t.sessionsText} actions={actions}>
      <QueryBoundary query={sessions}>
        {(data) => (
          <>
            <SessionTable sessions={data} />
            {!hasSeveralSessions && (
              <Text size="sm" c="dimmed" mt="xs">
                {t.alone}
              </Text>
            )}
          </>
        )}
      </QueryBoundary>
    </Section>
  );
}

function SessionTable({ sessions }: { sessions: readonly Session[] }): ReactNode {
  const { account: t, keys, never } = useAccessTexts();
  const end = useActionMutation<unknown, number>({
    write: (client, id) => client.auth.endSession(id),
    changes: ['sessions'],
    done: () => toast(t.ended),
  });
  return (
    <ListTable
      label={t.sessions}
      rows={sessions}
      keyOf={(session) => session.id}
      columns={[
        { title: t.begun, render: (session) => <DateTime value={session.createdAt} /> },
        { title: t.used, render: (session) => <DateTime value={session.lastUsedAt} none={keys.neverUsed} /> },
        { title: t.ends, render: (session) => <DateTime value={session.expiresAt} none={never} /> },
        {
          title: '',
          width: 120,
          render: (session) =>
            session.current ? (
              <StateBadge tone="good">{t.current}</StateBadge>
            ) : (
              <Button
                size="compact-sm"
                variant="default"
                aria-label={t.endLabel(session.id)}
                onClick={() => void end(session.id)}
              >
                {t.end}
              </Button>
            ),
        },
      ]}
    />
  );
}
