/** A dialog that says which permission refused something that a button asked for: `explainDenied({ resource, action })`. */
import { Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { useCheck } from './queries.ts';
import { useOwnRoleTitle } from './role-title.ts';
import { WhyDenied } from './why-denied.tsx';

interface Denied {
  readonly resource: string;
  readonly action: string;
}

let denied: Denied | null = null;
const listeners = new Set<() => void>();

function change(next: Denied | null): void {
  denied = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function explainDenied(asked: Denied): void {
  change(asked);
}

/** Stands once on a page whose buttons may be refused. */
export function ExplainHost(): ReactNode {
  const t = useTexts().common.problem;
  const asked = useSyncExternalStore(subscribe, () => denied);
  const { data: check } = useCheck();
  const roleTitle = useOwnRoleTitle();
  useEffect(() => () => change(null), []);
  return (
    <Modal opened={asked !== null} onClose={() => change(null)} title={t.deniedTitle} size="md">
      <Stack>
        {check && <Text>{t.denied(roleTitle(check.currentRole))}</Text>}
        {asked && <WhyDenied key={`${asked.resource}:${asked.action}`} {...asked} />}
      </Stack>
    </Modal>
  );
}
