import { Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { useMay } from './schema.ts';
import { Section } from './section.tsx';

interface DestroySectionProps {
  /** What is destroyed: nothing stands there for roles that may not. */
  readonly resource: string;
  readonly text: string;
  readonly destroyLabel: string;
  readonly destroy: () => void;
  /** What a refusal said, with the way on. */
  readonly children?: ReactNode;
}

/** The end of a page: what takes its subject away. */
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
