import { Select, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { useAsked, useCheck } from '../../data/queries.ts';
import { detailsOf, orNull, useWrite } from '../../data/use-write.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Moment } from '../../ui/moment.tsx';
import { useRoleOptions, useRoleTitle, useVisibleRoles } from '../access/access-queries.ts';
import type { ApiKey, MadeKey } from '../access/wire.ts';
import { KeyStateBadge, Lifetime, lifetimes, TokenDialog } from './key-parts.tsx';

/** The keys of programs, and the way to a new one, whose token is told once. */
export function KeysPage(): ReactNode {
  const { keys: t, never } = useAccessTexts();
  const app = useApplication();
  const roleTitle = useRoleTitle();
  const [made, setMade] = useState<MadeKey | null>(null);
  const keys = useAsked(
    ['apiKeys', 'list'],
    async (client, signal) =>
      (await client.records<ApiKey>('apiKeys').list({ pageSize: 1000, sort: ['-id'] }, { signal })).data,
  );
  const form = (close: () => void): ReactNode => (
    <NewKey
      cancel={close}
      done={(key) => {
        close();
        setMade(key);
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
          show: (key) => (
            <TextLink to="/a/$app/access/keys/$key" params={{ app, key: String(key.id) }} fw={500}>
              {key.name ?? t.unnamed(key.id)}
            </TextLink>
          ),
        },
        {
          title: t.role,
          show: (key) => (
            <TextLink to="/a/$app/access/roles/$role" params={{ app, role: key.role }} size="sm">
              {roleTitle(key.role)}
            </TextLink>
          ),
        },
        { title: t.state, show: (key) => <KeyStateBadge apiKey={key} /> },
        { title: t.expires, show: (key) => <Moment at={key.expiresAt} none={never} /> },
        { title: t.lastUsed, show: (key) => <Moment at={key.lastUsedAt} none={t.neverUsed} /> },
      ]}
    >
      <TokenDialog made={made} done={() => setMade(null)} />
    </ListPage>
  );
}

function NewKey({ cancel, done }: { cancel: () => void; done: (key: MadeKey) => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const words = access.keys;
  const { data: check } = useCheck();
  const roles = useVisibleRoles();
  const [values, setValues] = useState({ name: '', role: '', expiresIn: '30d' });
  const create = useWrite({
    write: (client) => {
      const { name, role, expiresIn } = values;
      return client.post<MadeKey>('apiKeys:create', { name: orNull(name), role: { name: role }, expiresIn });
    },
    changes: ['apiKeys'],
    done,
  });
  const problems = detailsOf(create.error);
  const offered = check?.currentRole === 'admin' && roles ? roles.map((role) => role.name) : (check?.roles ?? []);
  return (
    <DialogForm write={create} act={t.common.create} cancel={cancel} ready={values.role !== ''}>
      <TextInput
        label={words.name}
        description={words.nameHint}
        value={values.name}
        onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        error={problems['name']}
        data-autofocus
      />
      <Select
        label={words.role}
        data={useRoleOptions(offered)}
        value={values.role || null}
        onChange={(role) => setValues({ ...values, role: role ?? '' })}
        error={problems['role']}
        searchable
        required
      />
      <Lifetime
        label={words.expiresIn}
        description={words.expiresInHint}
        data={lifetimes}
        value={values.expiresIn}
        change={(expiresIn) => setValues({ ...values, expiresIn })}
        error={problems['expiresIn']}
      />
    </DialogForm>
  );
}
