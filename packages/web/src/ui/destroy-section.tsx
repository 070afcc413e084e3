import { Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { Icon } from './icon.tsx';
import { Section } from './section.tsx';

interface DestroySectionProps {
  readonly text: string;
  readonly act: string;
  readonly destroy: () => void;
  /** What a refusal said, with the way on. */
  readonly children?: ReactNode;
}

/** The end of a page: what takes its subject away. */
export function DestroySection({ text, act, destroy, children }: DestroySectionProps): ReactNode {
  const t = useTexts().common;
  return (
    <Section title={t.destroy} text={text} framed>
      <Stack align="flex-start">
        <Button variant="light" color="red" onClick={destroy} leftSection={<Icon name="trash" />}>
          {act}
        </Button>
        {children}
      </Stack>
    </Section>
  );
}
