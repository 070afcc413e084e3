import { Alert, Button, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { titleOf, useSchema } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useWrite } from '../../data/use-write.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import type { Permission } from '../access/wire.ts';
import { grantableActions } from './actions.ts';
import { roleSearch } from './roles-search.ts';

interface Explanation {
  readonly allowed: boolean;
  readonly reason: string;
  readonly permission: Permission | null;
}

/** Asks the server which rule decides, also for one record and one user. */
export function Explain({ role }: { role: string }): ReactNode {
  const t = useAccessTexts();
  const { data: schema } = useSchema();
  const [asked, setAsked] = useState({ resource: '', action: 'list', record: '', user: '' });
  const explain = useWrite({
    write: async (client) => {
      const { resource, action, record, user } = asked;
      const query = { role, resource, action, ...(record && { filterByTk: record }), ...(user && { user }) };
      return (await client.call<Explanation>('permissions:explain', { query })).data;
    },
    changes: [],
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    explain.mutate();
  };
  const resources = (schema?.collections ?? []).map((each) => ({ value: each.name, label: titleOf(each) }));
  return (
    <Section title={t.explain.title} text={t.explain.text}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
            <Select
              label={t.explain.resource}
              data={resources}
              value={asked.resource || null}
              onChange={(resource) => setAsked({ ...asked, resource: resource ?? '' })}
              searchable
              required
            />
            <Select
              label={t.explain.action}
              data={grantableActions.map((value) => ({ value, label: t.actionNames[value] ?? value }))}
              value={asked.action}
              onChange={(action) => action && setAsked({ ...asked, action })}
              allowDeselect={false}
            />
            <TextInput
              label={t.explain.record}
              placeholder={t.explain.recordHint}
              value={asked.record}
              onChange={(event) => setAsked({ ...asked, record: event.currentTarget.value })}
            />
            <TextInput
              label={t.explain.user}
              placeholder={t.explain.userHint}
              inputMode="numeric"
              value={asked.user}
              onChange={(event) => setAsked({ ...asked, user: event.currentTarget.value })}
            />
          </SimpleGrid>
          <div>
            <Button type="submit" variant="default" loading={explain.isPending} disabled={asked.resource === ''}>
              {t.explain.ask}
            </Button>
          </div>
          <FormProblem error={explain.error} />
          {explain.data && <Verdict {...explain.data} />}
        </Stack>
      </form>
    </Section>
  );
}

function Verdict({ allowed, reason, permission }: Explanation): ReactNode {
  const t = useAccessTexts().explain;
  const app = useApplication();
  return (
    <Alert
      color={allowed ? 'green' : 'red'}
      variant="light"
      role="status"
      icon={<Icon name={allowed ? 'check' : 'lock'} />}
      title={allowed ? t.allowed : t.denied}
    >
      <Text size="sm">{reason}</Text>
      {permission && (
        <TextLink
          to="/a/$app/access/roles/$role"
          params={{ app, role: permission.role }}
          search={roleSearch({ resource: permission.resource, action: permission.actions[0] })}
          size="sm"
          td="underline"
          c="inherit"
        >
          {t.rule}
        </TextLink>
      )}
    </Alert>
  );
}
