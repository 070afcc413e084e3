/** A dialog that says which permission refused something that a button asked for: `explainDenied({ resource, action })`. */
import { Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { useCheck } from './queries.ts';
import { useOwnRoleTitle } from './role-title.ts';
import { WhyDenied } from './why-denied.tsx';

interface DeniedPermission {
  readonly resource: string;
  readonly action: string;
}

let deniedPermission: DeniedPermission | null = null;
const listeners = new Set<() => void>();

function setDeniedPermission(next: DeniedPermission | null): void {
  deniedPermission = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function explainDenied(permission: DeniedPermission): void {
  setDeniedPermission(permission);
}

/** Stands once on a page whose buttons may be refused. */
export function ExplainHost(): ReactNode {
  const t = useTexts().common.problem;
  const permission = useSyncExternalStore(subscribe, () => deniedPermission);
  const { data: check } = useCheck();
  const roleTitle = useOwnRoleTitle();
  useEffect(() => () => setDeniedPermission(null), []);
  return (
    <Modal opened={permission !== null} onClose={() => setDeniedPermission(null)} title={t.deniedTitle} size="md">
      <Stack>
        {check && <Text>{t.denied(roleTitle(check.currentRole))}</Text>}
        {permission && <WhyDenied key={`${permission.resource}:${permission.action}`} {...permission} />}
      </Stack>
    </Modal>
  );
}
