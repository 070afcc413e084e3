/** Shows administrators which permission decided, also for another role that they try out. */
import { Button, Code, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { TextLink } from '../ui/links.tsx';
import { getClient, useApplication } from './application.tsx';
import { useApiQuery, useCheck } from './queries.ts';

interface Explanation {
  readonly allowed: boolean;
  readonly reason: string;
  readonly permission: { readonly id: number } | null;
}

export function WhyDenied({ resource, action }: { resource: string; action: string }): ReactNode {
  const { why, rules } = useTexts().common.problem;
  const [open, setOpen] = useState(false);
  const application = useApplication();
  const { data: check } = useCheck();
  const administrator = check?.roles.includes('admin') ?? false;
  const explained = useApiQuery(
    ['why', check?.currentRole, resource, action],
    async () => {
      const query = { role: check!.currentRole, resource, action };
      const asAdmin = getClient(application).with({ role: 'admin' });
      return (await asAdmin.call<Explanation>('permissions:explain', { query })).data;
    },
    { enabled: open && administrator },
  );
  if (!administrator) return null;
  if (!open)
    return (
      <Button variant="default" onClick={() => setOpen(true)}>
        {why}
      </Button>
    );
  return (
    <Stack gap={4} align="center">
      <Text size="sm">{explained.data?.reason ?? explained.error?.message}</Text>
      {explained.data?.permission && <Code>permissions/{explained.data.permission.id}</Code>}
      {check && (
        <TextLink
          to="/a/$app/access/roles/$role"
          params={{ app: application, role: check.currentRole }}
          search={{ resource, action }}
          size="sm"
        >
          {rules}
        </TextLink>
      )}
    </Stack>
  );
}
