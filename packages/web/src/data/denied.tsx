import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Empty, Waiting } from '../ui/states.tsx';
import { useCheck } from './queries.ts';
import { useOwnRoleTitle } from './role-title.ts';
import { useSchema } from './schema.ts';
import { WhyDenied } from './why-denied.tsx';

export interface RequiredPermission {
  readonly resource: string;
  readonly action: string;
}

/** In the place of what the role may not see or do: as whom it was asked, and for administrators why. */
export function Denied({ text, permission }: { text?: string; permission?: RequiredPermission }): ReactNode {
  const t = useTexts().common.problem;
  const { data: check } = useCheck();
  const roleTitle = useOwnRoleTitle();
  return (
    <Empty icon="lock" title={t.deniedTitle} text={text}>
      {check && <Text c="dimmed">{t.denied(roleTitle(check.currentRole))}</Text>}
      {permission && <WhyDenied {...permission} />}
    </Empty>
  );
}

/** What is there for roles that may do something; others are told before they have filled in a form. */
export function Allowed({ children, ...permission }: RequiredPermission & { children: ReactNode }): ReactNode {
  const { data, error } = useSchema();
  if (data) return data.may(permission.resource, permission.action) ? children : <Denied permission={permission} />;
  return error ? children : <Waiting />;
}
