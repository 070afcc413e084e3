/** What a page shows when it is empty, loading or waiting. */
import { Button, Skeleton, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { Icon, type IconName } from './icon.tsx';
import classes from './states.module.css';

interface EmptyProps {
  readonly icon?: IconName;
  readonly title: string;
  readonly text?: ReactNode;
  /** The suggested next step. */
  readonly children?: ReactNode;
}

export function Empty({ icon = 'info', title, text, children }: EmptyProps): ReactNode {
  return (
    <Stack align="center" gap="xs" className={classes.state}>
      <span className={classes.badge}>
        <Icon name={icon} size={22} />
      </span>
      <Title order={2}>{title}</Title>
      {text && (
        <Text c="dimmed" ta="center" maw="46ch">
          {text}
        </Text>
      )}
      {children}
    </Stack>
  );
}

/** Placeholder rows, shown after a short delay. */
export function Waiting({ rows = 8 }: { rows?: number }): ReactNode {
  const { problem, loading } = useTexts().common;
  const isVisible = useElapsed(120);
  const isSlow = useElapsed(4000);
  return (
    <output className={classes.waiting} aria-label={loading}>
      {isVisible &&
        Array.from({ length: rows }, (_, index) => `${index}`).map((line, index) => (
          <Skeleton key={line} height={18} width={widths[index % widths.length]} />
        ))}
      {isSlow && (
        <Text size="sm" c="dimmed">
          {problem.slow}
        </Text>
      )}
    </output>
  );
}

const widths = ['92%', '78%', '85%', '64%', '88%', '72%'];

function useElapsed(milliseconds: number): boolean {
  const [isElapsed, setIsElapsed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsElapsed(true), milliseconds);
    return () => clearTimeout(timer);
  }, [milliseconds]);
  return isElapsed;
}

/** Counts down in seconds, then calls the function once. */
export function Countdown({
  seconds,
  done,
  text,
}: {
  seconds: number;
  done: () => void;
  text: (left: number) => string;
}): ReactNode {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (left <= 0) return done();
    const timer = setTimeout(() => setLeft(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [left, done]);
  return <span className="tabular">{text(Math.max(left, 0))}</span>;
}

/** A retry button. */
export function RetryButton({ onClick }: { onClick: () => void }): ReactNode {
  const { retry } = useTexts().common;
  return (
    <Button variant="default" onClick={onClick} leftSection={<Icon name="refresh" />}>
      {retry}
    </Button>
  );
}
