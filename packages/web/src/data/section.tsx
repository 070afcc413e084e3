import { Group, Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RequiredPermission } from './denied.tsx';
import { ReadOnlyBoundary } from './read-only-boundary.tsx';

interface SectionProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly actions?: ReactNode;
  /** What it does cannot be taken back: it stands in a frame of its own. */
  readonly framed?: boolean;
  /** What its form asks for: it rests for roles that may not. */
  readonly needs?: RequiredPermission;
  readonly children: ReactNode;
}

/** One matter of a page, under its heading. */
export function Section({ title, text, actions, framed = false, needs, children }: SectionProps): ReactNode {
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
      {needs ? <ReadOnlyBoundary {...needs}>{children}</ReadOnlyBoundary> : children}
    </>
  );
  if (!framed) return <section aria-label={title}>{content}</section>;
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      {content}
    </Paper>
  );
}
