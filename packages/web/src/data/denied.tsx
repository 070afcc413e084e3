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

/** Shown instead of content that the role does not allow: the current role, and for administrators the reason. */
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

/** Shows its content only to roles that allow an action, so that nobody fills in a form that will be refused. */
export function Allowed({ children, ...permission }: RequiredPermission & { children: ReactNode }): ReactNode {
  const { data, error } = useSchema();
  if (data) return data.may(permission.resource, permission.action) ? children : <Denied permission={permission} />;
  return error ? children : <Waiting />;
}
