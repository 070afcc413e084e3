import { Alert, Button, Group, Modal, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { ReadOnlyBoundary } from '../../data/read-only-boundary.tsx';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { emptyToNull, getErrorDetails, useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
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
import { useRoleTitle } from '../access/access-queries.ts';
import type { ApiKey, ApiKeyUsage, CreatedApiKey } from '../access/dto.ts';
import { KeyStateBadge, LifetimeInput, lifetimes, overlaps, TokenDialog } from './key-parts.tsx';
import { getKeyState } from './key-state.ts';

/** The page of one API key: its usage, and the buttons that rotate and revoke it. */
export function KeyPage(): ReactNode {
  const t = useAccessTexts().keys;
  const app = useApplication();
  const { key: id = '' } = useParams({ strict: false });
  const key = useApiQuery(['apiKeys', 'one', id], (client, signal) =>
    client.records<ApiKey>('apiKeys').get(id, {}, { signal }),
  );
  const [rotating, setRotating] = useState(false);
  const [createdKey, setCreatedKey] = useState<CreatedApiKey | null>(null);
  const navigate = useNavigate();
  const closeTokenDialog = (): void => {
    const next = createdKey;
    setCreatedKey(null);
    if (next) void navigate({ to: '/a/$app/access/keys/$key', params: { app, key: String(next.id) } });
  };
  const above = (
    <TextLink to="/a/$app/access/keys" params={{ app }}>
      {t.all}
    </TextLink>
  );
  const actions = key.data && <Actions apiKey={key.data} rotate={() => setRotating(true)} />;
  return (
    <Page title={key.data ? (key.data.name ?? t.unnamed(key.data.id)) : id} above={above} actions={actions}>
      <QueryBoundary query={key} permission={{ resource: 'apiKeys', action: 'get' }}>
        {(data) => (
          <Stack gap="xl">
            {getKeyState(data) === 'over' && (
              <Alert color="red" variant="light" icon={<Icon name="lock" />}>
                {t.over}
              </Alert>
            )}
            {getKeyState(data) === 'inactive' && data.inactiveReason && (
              <Alert color="red" variant="light" icon={<Icon name="lock" />}>
                {t.inactive[data.inactiveReason]}
              </Alert>
            )}
            <About key={data.id} apiKey={data} />
            <Usage apiKey={data} />
          </Stack>
        )}
      </QueryBoundary>
      <Modal opened={rotating} onClose={() => setRotating(false)} title={t.rotateTitle}>
        {key.data && (
          <Rotate
            apiKey={key.data}
            cancel={() => setRotating(false)}
            done={(next) => {
              setRotating(false);
              setCreatedKey(next);
            }}
          />
        )}
      </Modal>
      <TokenDialog createdKey={createdKey} done={closeTokenDialog} />
    </Page>
  );
}

function Actions({ apiKey, rotate }: { apiKey: ApiKey; rotate: () => void }): ReactNode {
  const t = useAccessTexts().keys;
  const app = useApplication();
  const navigate = useNavigate();
  const may = useMay();
  const name = apiKey.name ?? t.unnamed(apiKey.id);
  const revoke = useActionMutation({
    write: (client) => client.records('apiKeys').destroy(apiKey.id),
    changes: ['apiKeys'],
    done: async () => {
      toast(t.revoked(name));
      await navigate({ to: '/a/$app/access/keys', params: { app } });
    },
  });
  const confirmRevoke = async (): Promise<void> => {
    if (await confirm({ title: t.revokeTitle(name), text: t.revokeText, confirmLabel: t.revoke, danger: true }))
      await revoke();
  };
  return (
    <>
      {getKeyState(apiKey) !== 'over' && may('apiKeys', 'rotate') && (
        <Button variant="default" leftSection={<Icon name="refresh" />} onClick={rotate}>
          {t.rotate}
        </Button>
      )}
      {may('apiKeys', 'destroy') && (
        <Button variant="light" color="red" leftSection={<Icon name="trash" />} onClick={() => void confirmRevoke()}>
          {t.revoke}
        </Button>
      )}
    </>
  );
}

function About({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const roleTitle = useRoleTitle();
  const { keys: t, never, saved } = useAccessTexts();
  const app = useApplication();
  const [name, setName] = useState(apiKey.name ?? '');
  const rename = useApiMutation({
    write: (client) => client.records('apiKeys').update(apiKey.id, { name: emptyToNull(name) }),
    changes: ['apiKeys'],
    done: () => toast(saved),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Stack maw={520}>
      <DescriptionList
        items={[
          [t.state, <KeyStateBadge key="state" apiKey={apiKey} />],
          [
            t.role,
            <TextLink key="role" to="/a/$app/access/roles/$role" params={{ app, role: apiKey.role }}>
              {roleTitle(apiKey.role)}
            </TextLink>,
          ],
          [t.created, <DateTime key="created" value={apiKey.createdAt} />],
          [t.expires, <DateTime key="ends" value={apiKey.expiresAt} none={never} />],
          [t.lastUsed, <DateTime key="used" value={apiKey.lastUsedAt} none={t.neverUsed} />],
        ]}
      />
      <ReadOnlyBoundary resource="apiKeys" action="update">
        <form onSubmit={submit}>
          <Group align="flex-end" gap="xs">
            <TextInput
              label={t.name}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={getErrorDetails(rename.error)['name']}
              flex={1}
            />
            <Button type="submit" variant="default" loading={rename.isPending} disabled={name === (apiKey.name ?? '')}>
              {t.rename}
            </Button>
          </Group>
          <FormProblem error={rename.error} />
        </form>
      </ReadOnlyBoundary>
    </Stack>
  );
}

function Usage({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const t = useAccessTexts().keys;
  const usage = useApiQuery(
    ['apiKeys', 'stats', apiKey.id],
    async (client, signal) =>
      (await client.call<ApiKeyUsage>('apiKeys:stats', { query: { filterByTk: apiKey.id }, signal })).data,
    { refetchInterval: 15_000 },
  );
  return (
    <Section title={t.usage}>
      <QueryBoundary query={usage} permission={{ resource: 'apiKeys', action: 'list' }}>
        {(data) => (data.requests === 0 ? <Text c="dimmed">{t.usageEmpty}</Text> : <UsageCharts usage={data} />)}
      </QueryBoundary>
    </Section>
  );
}

function UsageCharts({ usage }: { usage: ApiKeyUsage }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.keys;
  const maxRequests = Math.max(1, ...usage.endpoints.map((each) => each.requests));
  return (
    <Stack>
      <Stack maw={520}>
        <DescriptionList
          items={[
            [labels.requests, t.common.count(usage.requests)],
            [labels.failed, t.common.count(usage.failedAttempts)],
            [labels.firstUsed, <DateTime key="first" value={usage.firstUsedAt} none={labels.neverUsed} />],
            [labels.lastUsed, <DateTime key="last" value={usage.lastUsedAt} none={labels.neverUsed} />],
          ]}
        />
      </Stack>
      {usage.endpoints.length > 0 && (
        <ListTable
          label={labels.usageChart}
          rows={usage.endpoints}
          keyOf={(each) => each.endpoint}
          columns={[
            { title: labels.endpoint, width: '35%', render: (each) => <span className="code">{each.endpoint}</span> },
            {
              title: '',
              render: (each) => (
                <Progress
                  value={(100 * each.requests) / maxRequests}
                  aria-label={each.endpoint}
                  size="lg"
                  radius="xs"
                />
              ),
            },
            { title: labels.requests, width: 110, number: true, render: (each) => t.common.count(each.requests) },
          ]}
        />
      )}
    </Stack>
  );
}

interface RotateProps {
  readonly apiKey: ApiKey;
  readonly cancel: () => void;
  readonly done: (createdKey: CreatedApiKey) => void;
}

function Rotate({ apiKey, cancel, done }: RotateProps): ReactNode {
  const access = useAccessTexts();
  const labels = access.keys;
  const [values, setValues] = useState({ overlap: '1h', expiresIn: '' });
  const rotate = useApiMutation({
    write: (client) => {
      const { overlap, expiresIn } = values;
      const body = { overlap, ...(expiresIn && { expiresIn }) };
      return client.post<CreatedApiKey>('apiKeys:rotate', body, { filterByTk: apiKey.id });
    },
    changes: ['apiKeys'],
    done,
  });
  const problems = getErrorDetails(rotate.error);
  return (
    <DialogForm write={rotate} submitLabel={labels.rotate} cancel={cancel}>
      <Text size="sm">{labels.rotateText}</Text>
      <LifetimeInput
        label={labels.overlap}
        description={labels.overlapHint}
        data={overlaps}
        value={values.overlap}
        change={(overlap) => setValues({ ...values, overlap })}
        error={problems['overlap']}
      />
      <LifetimeInput
        label={labels.expiresIn}
        description={labels.expiresInSame}
        data={lifetimes}
        value={values.expiresIn}
        change={(expiresIn) => setValues({ ...values, expiresIn })}
        error={problems['expiresIn']}
      />
    </DialogForm>
  );
}
