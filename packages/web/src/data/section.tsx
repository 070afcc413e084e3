import { Group, Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RequiredPermission } from './denied.tsx';
import { ReadOnlyBoundary } from './read-only-boundary.tsx';

interface SectionProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly actions?: ReactNode;
  /** The section deletes something; it is shown in a frame. */
  readonly framed?: boolean;
  /** The permission that the form needs. It is read-only for other roles. */
  readonly needs?: RequiredPermission;
  readonly children: ReactNode;
}

/** One section of a page with a heading. */
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
