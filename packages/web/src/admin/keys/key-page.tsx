import { Alert, Button, Group, Modal, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Changeable } from '../../data/changeable.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { Asked, FormProblem } from '../../data/problem.tsx';
import { useAsked } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { detailsOf, orNull, useAct, useWrite } from '../../data/use-write.ts';
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
import { useRoleTitle } from '../access/access-queries.ts';
import type { ApiKey, KeyUse, MadeKey } from '../access/wire.ts';
import { KeyStateBadge, Lifetime, lifetimes, overlaps, TokenDialog } from './key-parts.tsx';
import { keyState } from './key-state.ts';

/** One key: what it is used for, its successor, its end. */
export function KeyPage(): ReactNode {
  const t = useAccessTexts().keys;
  const app = useApplication();
  const { key: id = '' } = useParams({ strict: false });
  const key = useAsked(['apiKeys', 'one', id], (client, signal) =>
    client.records<ApiKey>('apiKeys').get(id, {}, { signal }),
  );
  const [rotating, setRotating] = useState(false);
  const [made, setMade] = useState<MadeKey | null>(null);
  const navigate = useNavigate();
  const told = (): void => {
    const next = made;
    setMade(null);
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
      <Asked query={key} asked={{ resource: 'apiKeys', action: 'get' }}>
        {(data) => (
          <Stack gap="xl">
            {keyState(data) === 'over' && (
              <Alert color="red" variant="light" icon={<Icon name="lock" />}>
                {t.over}
              </Alert>
            )}
            {keyState(data) === 'inactive' && (
              <Alert color="red" variant="light" icon={<Icon name="lock" />}>
                {t.inactive[data.inactiveReason!]}
              </Alert>
            )}
            <About key={data.id} apiKey={data} />
            <Usage apiKey={data} />
          </Stack>
        )}
      </Asked>
      <Modal opened={rotating} onClose={() => setRotating(false)} title={t.rotateTitle}>
        {key.data && (
          <Rotate
            apiKey={key.data}
            cancel={() => setRotating(false)}
            done={(next) => {
              setRotating(false);
              setMade(next);
            }}
          />
        )}
      </Modal>
      <TokenDialog made={made} done={told} />
    </Page>
  );
}

function Actions({ apiKey, rotate }: { apiKey: ApiKey; rotate: () => void }): ReactNode {
  const t = useAccessTexts().keys;
  const app = useApplication();
  const navigate = useNavigate();
  const may = useMay();
  const name = apiKey.name ?? t.unnamed(apiKey.id);
  const revoke = useAct({
    write: (client) => client.records('apiKeys').destroy(apiKey.id),
    changes: ['apiKeys'],
    done: async () => {
      toast(t.revoked(name));
      await navigate({ to: '/a/$app/access/keys', params: { app } });
    },
  });
  const ask = async (): Promise<void> => {
    if (await confirm({ title: t.revokeTitle(name), text: t.revokeText, act: t.revoke, danger: true })) await revoke();
  };
  return (
    <>
      {keyState(apiKey) !== 'over' && may('apiKeys', 'rotate') && (
        <Button variant="default" leftSection={<Icon name="refresh" />} onClick={rotate}>
          {t.rotate}
        </Button>
      )}
      {may('apiKeys', 'destroy') && (
        <Button variant="light" color="red" leftSection={<Icon name="trash" />} onClick={() => void ask()}>
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
  const rename = useWrite({
    write: (client) => client.records('apiKeys').update(apiKey.id, { name: orNull(name) }),
    changes: ['apiKeys'],
    done: () => toast(saved),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Stack maw={520}>
      <Facts
        facts={[
          [t.state, <KeyStateBadge key="state" apiKey={apiKey} />],
          [
            t.role,
            <TextLink key="role" to="/a/$app/access/roles/$role" params={{ app, role: apiKey.role }}>
              {roleTitle(apiKey.role)}
            </TextLink>,
          ],
          [t.created, <Moment key="created" at={apiKey.createdAt} />],
          [t.expires, <Moment key="ends" at={apiKey.expiresAt} none={never} />],
          [t.lastUsed, <Moment key="used" at={apiKey.lastUsedAt} none={t.neverUsed} />],
        ]}
      />
      <Changeable resource="apiKeys" action="update">
        <form onSubmit={submit}>
          <Group align="flex-end" gap="xs">
            <TextInput
              label={t.name}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={detailsOf(rename.error)['name']}
              flex={1}
            />
            <Button type="submit" variant="default" loading={rename.isPending} disabled={name === (apiKey.name ?? '')}>
              {t.rename}
            </Button>
          </Group>
          <FormProblem error={rename.error} />
        </form>
      </Changeable>
    </Stack>
  );
}

function Usage({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const t = useAccessTexts().keys;
  const use = useAsked(
    ['apiKeys', 'stats', apiKey.id],
    async (client, signal) =>
      (await client.call<KeyUse>('apiKeys:stats', { query: { filterByTk: apiKey.id }, signal })).data,
    { refetchInterval: 15_000 },
  );
  return (
    <Section title={t.usage}>
      <Asked query={use} asked={{ resource: 'apiKeys', action: 'list' }}>
        {(data) => (data.requests === 0 ? <Text c="dimmed">{t.usageEmpty}</Text> : <UseCharts use={data} />)}
      </Asked>
    </Section>
  );
}

function UseCharts({ use }: { use: KeyUse }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const words = access.keys;
  const most = Math.max(1, ...use.endpoints.map((each) => each.requests));
  return (
    <Stack>
      <Stack maw={520}>
        <Facts
          facts={[
            [words.requests, t.common.count(use.requests)],
            [words.failed, t.common.count(use.failedAttempts)],
            [words.firstUsed, <Moment key="first" at={use.firstUsedAt} none={words.neverUsed} />],
            [words.lastUsed, <Moment key="last" at={use.lastUsedAt} none={words.neverUsed} />],
          ]}
        />
      </Stack>
      {use.endpoints.length > 0 && (
        <ListTable
          label={words.usageChart}
          rows={use.endpoints}
          keyOf={(each) => each.endpoint}
          columns={[
            { title: words.endpoint, width: '35%', show: (each) => <span className="code">{each.endpoint}</span> },
            {
              title: '',
              show: (each) => (
                <Progress value={(100 * each.requests) / most} aria-label={each.endpoint} size="lg" radius="xs" />
              ),
            },
            { title: words.requests, width: 110, number: true, show: (each) => t.common.count(each.requests) },
          ]}
        />
      )}
    </Stack>
  );
}

interface RotateProps {
  readonly apiKey: ApiKey;
  readonly cancel: () => void;
  readonly done: (made: MadeKey) => void;
}

function Rotate({ apiKey, cancel, done }: RotateProps): ReactNode {
  const access = useAccessTexts();
  const words = access.keys;
  const [values, setValues] = useState({ overlap: '1h', expiresIn: '' });
  const rotate = useWrite({
    write: (client) => {
      const { overlap, expiresIn } = values;
      const body = { overlap, ...(expiresIn && { expiresIn }) };
      return client.post<MadeKey>('apiKeys:rotate', body, { filterByTk: apiKey.id });
    },
    changes: ['apiKeys'],
    done,
  });
  const problems = detailsOf(rotate.error);
  return (
    <DialogForm write={rotate} act={words.rotate} cancel={cancel}>
      <Text size="sm">{words.rotateText}</Text>
      <Lifetime
        label={words.overlap}
        description={words.overlapHint}
        data={overlaps}
        value={values.overlap}
        change={(overlap) => setValues({ ...values, overlap })}
        error={problems['overlap']}
      />
      <Lifetime
        label={words.expiresIn}
        description={words.expiresInSame}
        data={lifetimes}
        value={values.expiresIn}
        change={(expiresIn) => setValues({ ...values, expiresIn })}
        error={problems['expiresIn']}
      />
    </DialogForm>
  );
}
