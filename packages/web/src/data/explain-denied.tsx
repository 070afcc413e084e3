/** A dialog that explains which permission refused an action: `explainDenied({ resource, action })`. */
import { Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { useStore, ValueStore } from '../ui/store.ts';
import { useCheck } from './queries.ts';
import { useOwnRoleTitle } from './role-title.ts';
import { WhyDenied } from './why-denied.tsx';

interface DeniedPermission {
  readonly resource: string;
  readonly action: string;
}

const deniedPermission = new ValueStore<DeniedPermission | null>(null);

export function explainDenied(permission: DeniedPermission): void {
  deniedPermission.set(permission);
}

/** The dialog of {@link explainDenied}. It is rendered once on a page. */
export function ExplainHost(): ReactNode {
  const t = useTexts().common.problem;
  const permission = useStore(deniedPermission);
  const { data: check } = useCheck();
  const roleTitle = useOwnRoleTitle();
  useEffect(() => () => deniedPermission.set(null), []);
  return (
    <Modal opened={permission !== null} onClose={() => deniedPermission.set(null)} title={t.deniedTitle} size="md">
      <Stack>
        {check && <Text>{t.denied(roleTitle(check.currentRole))}</Text>}
        {permission && <WhyDenied key={`${permission.resource}:${permission.action}`} {...permission} />}
      </Stack>
    </Modal>
  );
}
