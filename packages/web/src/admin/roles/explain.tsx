import { Alert, Button, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { FormProblem } from '../../data/problem.tsx';
import { useSchema } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import type { Permission } from '../access/dto.ts';
import { grantableActions } from './actions.ts';
import { parseRoleSearch } from './role-search.ts';

interface Explanation {
  readonly allowed: boolean;
  readonly reason: string;
  readonly permission: Permission | null;
}

/** Asks the server which rule decides, optionally for one record and one user. */
export function Explain({ role }: { role: string }): ReactNode {
  const t = useAccessTexts();
  const { data: schema } = useSchema();
  const [request, setRequest] = useState({ resource: '', action: 'list', record: '', user: '' });
  const explain = useApiMutation({
    write: async (client) => {
      const { resource, action, record, user } = request;
      const query = { role, resource, action, ...(record && { filterByTk: record }), ...(user && { user }) };
      return (await client.call<Explanation>('permissions:explain', { query })).data;
    },
    changes: [],
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    explain.mutate();
  };
  const resources = (schema?.collections ?? []).map((each) => ({ value: each.name, label: getTitle(each) }));
  return (
    <Section title={t.explain.title} text={t.explain.text}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
            <Select
              label={t.explain.resource}
              data={resources}
              value={request.resource || null}
              onChange={(resource) => setRequest({ ...request, resource: resource ?? '' })}
              searchable
              required
            />
            <Select
              label={t.explain.action}
              data={grantableActions.map((value) => ({ value, label: t.actionNames[value] ?? value }))}
              value={request.action}
              onChange={(action) => action && setRequest({ ...request, action })}
              allowDeselect={false}
            />
            <TextInput
              label={t.explain.record}
              placeholder={t.explain.recordHint}
              value={request.record}
              onChange={(event) => setRequest({ ...request, record: event.currentTarget.value })}
            />
            <TextInput
              label={t.explain.user}
              placeholder={t.explain.userHint}
              inputMode="numeric"
              value={request.user}
              onChange={(event) => setRequest({ ...request, user: event.currentTarget.value })}
            />
          </SimpleGrid>
          <div>
            <Button type="submit" variant="default" loading={explain.isPending} disabled={request.resource === ''}>
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
          search={parseRoleSearch({ resource: permission.resource, action: permission.actions[0] })}
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
