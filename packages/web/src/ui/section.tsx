import { Group, Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly actions?: ReactNode;
  /** What it does cannot be taken back: it stands in a frame of its own. */
  readonly framed?: boolean;
  readonly children: ReactNode;
}

/** One matter of a page, under its heading. */
export function Section({ title, text, actions, framed = false, children }: SectionProps): ReactNode {
  const content = (
    <>
      <Group justify="space-between" mb="xs" align="flex-start">
        <div>
          <Title order={2}>{title}</Title>
          {text && (
            <Text size="sm" c="dimmed" maw="75ch">
              {text}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </>
  );
  if (!framed) return <section aria-label={title}>{content}</section>;
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      {content}
    </Paper>
  );
}
