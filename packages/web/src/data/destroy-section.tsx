import { Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { useMay } from './schema.ts';
import { Section } from './section.tsx';

interface DestroySectionProps {
  /** The resource. Nothing is shown to roles that do not allow its destroy action. */
  readonly resource: string;
  readonly text: string;
  readonly destroyLabel: string;
  readonly destroy: () => void;
  /** The error of a refused delete. */
  readonly children?: ReactNode;
}

/** The section at the end of a page that deletes its subject. */
export function DestroySection({ resource, text, destroyLabel, destroy, children }: DestroySectionProps): ReactNode {
  const t = useTexts().common;
  const may = useMay();
  if (!may(resource, 'destroy')) return null;
  return (
    <Section title={t.destroy} text={text} framed>
      <Stack align="flex-start">
        <Button variant="light" color="red" onClick={destroy} leftSection={<Icon name="trash" />}>
          {destroyLabel}
        </Button>
        {children}
      </Stack>
    </Section>
  );
}
