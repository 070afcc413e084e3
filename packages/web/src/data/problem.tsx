/** A failure as a page shows it: what the server said and how to go on, for each kind of failure. */
import { Alert, Code, Stack, Text } from '@mantine/core';
import { Failure } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { Countdown, Empty, RetryButton, Waiting } from '../ui/states.tsx';
import { useCheck } from './queries.ts';
import { WhyDenied } from './why-denied.tsx';

/** The sentence of a failure. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface ProblemProps {
  readonly error: unknown;
  readonly retry: () => void;
  /** What was asked for, so that an administrator can see which permission decided. */
  readonly asked?: { readonly resource: string; readonly action: string };
}

/** In the place of a page's content. */
export function Problem({ error, retry, asked }: ProblemProps): ReactNode {
  const t = useTexts().common.problem;
  const { data: check } = useCheck();
  const again = useCallback(() => retry(), [retry]);
  const failure = error instanceof Failure ? error : null;
  if (failure?.offline)
    return (
      <Empty icon="offline" title={t.offlineTitle} text={t.offline}>
        <RetryButton onClick={retry} />
      </Empty>
    );
  if (failure?.status === 403)
    return (
      <Empty icon="lock" title={t.deniedTitle} text={failure.message}>
        {check && (
          <Text c="dimmed" ta="center">
            {t.denied(check.currentRole)}
          </Text>
        )}
        {asked && <WhyDenied {...asked} />}
      </Empty>
    );
  if (failure?.retryAfter != null)
    return (
      <Empty icon="clock" title={failure.status === 429 ? t.busyTitle : t.title} text={failure.message}>
        <Text c="dimmed">
          <Countdown key={failure.requestId} seconds={failure.retryAfter} done={again} text={t.busy} />
        </Text>
        <RetryButton onClick={retry} />
      </Empty>
    );
  return (
    <Empty icon="warning" title={failure?.status === 404 ? t.notFoundTitle : t.title} text={messageOf(error)}>
      {failure?.requestId && <Code>{t.reference(failure.requestId)}</Code>}
      <RetryButton onClick={retry} />
    </Empty>
  );
}

/** Beside a form: what was refused, without what stands at its fields already. */
export function FormProblem({ error }: { error: unknown }): ReactNode {
  const t = useTexts().common.problem;
  if (!error) return null;
  const details = error instanceof Failure ? Object.entries(error.details) : [];
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} title={t.title}>
      <Stack gap={4}>
        <Text size="sm">{messageOf(error)}</Text>
        {details.length > 1 &&
          details.map(([place, text]) => (
            <Text size="sm" key={place}>
              <b>{place}</b> {text}
            </Text>
          ))}
      </Stack>
    </Alert>
  );
}

interface AskedProps<T> {
  readonly query: UseQueryResult<T, Error>;
  readonly asked?: ProblemProps['asked'];
  /** Shown while it is read; lines of a list unless told. */
  readonly waiting?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** What a query gave, or the state that it is in. What is shown already stays when asking again fails. */
export function Asked<T>({ query, asked, waiting = <Waiting />, children }: AskedProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Problem error={query.error} retry={() => void query.refetch()} {...(asked && { asked })} />;
  return waiting;
}
