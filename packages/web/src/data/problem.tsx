/** Shows a failure: the message of the server, and the next step for each kind of failure. */
import { Alert, Code, Stack, Text } from '@mantine/core';
import { Failure } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { Countdown, Empty, RetryButton, Waiting } from '../ui/states.tsx';
import { Denied, type RequiredPermission } from './denied.tsx';

/** The message of an error. */
export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of a refused request whose invalid value nobody has entered: without its path in the request body. */
export function getValueMessage(error: unknown): string {
  const messages = error instanceof Failure ? Object.values(error.details) : [];
  return messages.length === 1 ? messages[0]! : getErrorMessage(error);
}

interface ProblemProps {
  readonly error: unknown;
  readonly retry: () => void;
  /** The permission that was needed, so that an administrator can see which rule decided. */
  readonly permission?: RequiredPermission;
}

/** Shown instead of the content of a page. */
export function Problem({ error, retry, permission }: ProblemProps): ReactNode {
  const t = useTexts().common.problem;
  const again = useCallback(() => retry(), [retry]);
  const failure = error instanceof Failure ? error : null;
  if (failure?.offline)
    return (
      <Empty icon="offline" title={t.offlineTitle} text={t.offline}>
        <RetryButton onClick={retry} />
      </Empty>
    );
  if (failure?.status === 403) return <Denied text={failure.message} {...(permission && { permission })} />;
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
    <Empty icon="warning" title={failure?.status === 404 ? t.notFoundTitle : t.title} text={getErrorMessage(error)}>
      {failure?.requestId && <Code>{t.reference(failure.requestId)}</Code>}
      <RetryButton onClick={retry} />
    </Empty>
  );
}

/** The error of a form, without the messages that its fields already show. */
export function FormProblem({ error }: { error: unknown }): ReactNode {
  const t = useTexts().common.problem;
  if (!error) return null;
  const details = error instanceof Failure ? Object.entries(error.details) : [];
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} title={t.title}>
      <Stack gap={4}>
        <Text size="sm">{getErrorMessage(error)}</Text>
        {details.length > 1 &&
          details.map(([errorPath, text]) => (
            <Text size="sm" key={errorPath}>
              <b>{errorPath}</b> {text}
            </Text>
          ))}
      </Stack>
    </Alert>
  );
}

interface QueryBoundaryProps<T> {
  readonly query: UseQueryResult<T, Error>;
  readonly permission?: ProblemProps['permission'];
  /** Shown while the query is loading; placeholder rows by default. */
  readonly waiting?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** Shows the result of a query, or its loading or error state. Loaded content stays visible if a refetch fails. */
export function QueryBoundary<T>({
  query,
  permission,
  waiting = <Waiting />,
  children,
}: QueryBoundaryProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error)
    return <Problem error={query.error} retry={() => void query.refetch()} {...(permission && { permission })} />;
  return waiting;
}
