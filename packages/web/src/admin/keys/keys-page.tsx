import { Select, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { useApiQuery, useCheck } from '../../data/queries.ts';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { useRoleOptions, useRoleTitle, useVisibleRoles } from '../access/access-queries.ts';
import type { ApiKey, CreatedApiKey } from '../access/dto.ts';
import { KeyStateBadge, LifetimeInput, lifetimes, TokenDialog } from './key-parts.tsx';

/** The list of API keys, with a dialog that creates one and shows its token once. */
export function KeysPage(): ReactNode {
  const { keys: t, never } = useAccessTexts();
  const app = useApplication();
  const roleTitle = useRoleTitle();
  const [createdKey, setCreatedKey] = useState<CreatedApiKey | null>(null);
  const keys = useApiQuery(
    ['apiKeys', 'list'],
    async (client, signal) =>
      (await client.records<ApiKey>('apiKeys').list({ pageSize: 1000, sort: ['-id'] }, { signal })).data,
  );
  const form = (close: () => void): ReactNode => (
    <NewKey
      cancel={close}
      done={(key) => {
        close();
        setCreatedKey(key);
      }}
    />
  );
  return (
    <ListPage
      title={t.title}
      description={t.description}
      resource="apiKeys"
      query={keys}
      create={{ label: t.create, form }}
      empty={{ icon: 'key', title: t.emptyTitle, text: t.emptyText }}
      keyOf={(key) => key.id}
      columns={[
        {
          title: t.name,
          render: (key) => (
            <TextLink to="/a/$app/access/keys/$key" params={{ app, key: String(key.id) }} fw={500}>
              {key.name ?? t.unnamed(key.id)}
            </TextLink>
          ),
        },
        {
          title: t.role,
          render: (key) => (
            <TextLink to="/a/$app/access/roles/$role" params={{ app, role: key.role }} size="sm">
              {roleTitle(key.role)}
            </TextLink>
          ),
        },
        { title: t.state, render: (key) => <KeyStateBadge apiKey={key} /> },
        { title: t.expires, render: (key) => <DateTime value={key.expiresAt} none={never} /> },
        { title: t.lastUsed, render: (key) => <DateTime value={key.lastUsedAt} none={t.neverUsed} /> },
      ]}
    >
      <TokenDialog createdKey={createdKey} done={() => setCreatedKey(null)} />
    </ListPage>
  );
}

function NewKey({ cancel, done }: { cancel: () => void; done: (key: CreatedApiKey) => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.keys;
  const { data: check } = useCheck();
  const roles = useVisibleRoles();
  const [values, setValues] = useState({ name: '', role: '', expiresIn: '30d' });
  const create = useApiMutation({
    write: (client) => {
      const { name, role, expiresIn } = values;
      return client.post<CreatedApiKey>('apiKeys:create', { name: emptyToNull(name), role: { name: role }, expiresIn });
    },
    changes: ['apiKeys'],
    done,
  });
  const problems = getErrorDetails(create.error);
  const offered = check?.currentRole === 'admin' && roles ? roles.map((role) => role.name) : (check?.roles ?? []);
  return (
    <DialogForm write={create} submitLabel={t.common.create} cancel={cancel} isReady={values.role !== ''}>
      <TextInput
        label={labels.name}
        description={labels.nameHint}
        value={values.name}
        onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        error={problems['name']}
        data-autofocus
      />
      <Select
        label={labels.role}
        data={useRoleOptions(offered)}
        value={values.role || null}
        onChange={(role) => setValues({ ...values, role: role ?? '' })}
        error={problems['role']}
        searchable
        required
      />
      <LifetimeInput
        label={labels.expiresIn}
        description={labels.expiresInHint}
        data={lifetimes}
        value={values.expiresIn}
        change={(expiresIn) => setValues({ ...values, expiresIn })}
        error={problems['expiresIn']}
      />
    </DialogForm>
  );
}
