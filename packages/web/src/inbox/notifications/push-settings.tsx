import { Stack, Switch, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { useCheck } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { getPushSupport, type PushChoice, readPushChoice, subscribeDevice, unsubscribeDevice } from './push-device.ts';

interface PushState {
  /** Null: this browser gets no push messages. */
  readonly choice: PushChoice | null;
  readonly isChanging: boolean;
  readonly set: (choice: Omit<PushChoice, 'user'> | null) => void;
}

/**
 * The push messages of this browser. A subscription ends on the server with each sign-out, so it is stored again when the page is
 * opened.
 */
export function usePush(): PushState | null {
  const app = useApplication();
  const { data: check } = useCheck();
  const may = useMay();
  const t = useInboxTexts().team.notifications.push;
  const user = check?.id ?? null;
  const [choice, setChoice] = useState<PushChoice | null>(null);
  const [isChanging, setIsChanging] = useState(false);
  const isAvailable = may('mailPushSubscriptions', 'subscribe') && user !== null && getPushSupport() !== 'missing';
  useEffect(() => {
    if (!isAvailable || user === null) return;
    const restore = async (): Promise<void> => {
      const stored = readPushChoice(app, user);
      if (stored && (await subscribeDevice(getClient(app), app, stored))) setChoice(stored);
    };
    restore().catch(() => {}); // the switch is off then
  }, [isAvailable, app, user]);
  if (!isAvailable || user === null) return null;
  const change = async (next: Omit<PushChoice, 'user'> | null): Promise<void> => {
    setIsChanging(true);
    try {
      if (next === null) await unsubscribeDevice(getClient(app), app);
      else if (!(await subscribeDevice(getClient(app), app, { ...next, user }))) {
        toast(t.blocked, { failed: true });
        return;
      }
      setChoice(next && { ...next, user });
    } catch (error) {
      toast(`${t.failed} ${getErrorMessage(error as Error)}`, { failed: true });
    } finally {
      setIsChanging(false);
    }
  };
  return { choice, isChanging, set: (next) => void change(next) };
}

/** The switches for push messages to this browser. */
export function PushSettings({ choice, isChanging, set }: PushState): ReactNode {
  const t = useInboxTexts().team.notifications.push;
  if (getPushSupport() === 'blocked')
    return (
      <Text size="sm" c="dimmed" p="sm">
        {t.blocked}
      </Text>
    );
  return (
    <Stack gap="xs" p="sm">
      <Switch
        label={t.device}
        description={t.deviceHint}
        checked={choice !== null}
        disabled={isChanging}
        onChange={(event) => set(event.currentTarget.checked ? { newMail: false } : null)}
      />
      {choice !== null && (
        <Switch
          label={t.newMail}
          checked={choice.newMail}
          disabled={isChanging}
          onChange={(event) => set({ newMail: event.currentTarget.checked })}
        />
      )}
    </Stack>
  );
}

/** Opens the conversation of a notification on which the user has clicked. */
export function usePushClicks(open: (conversation: number) => void): void {
  useEffect(() => {
    const workers = 'serviceWorker' in navigator ? navigator.serviceWorker : null;
    const listen = ({ data }: MessageEvent<{ readonly open?: unknown } | null>): void => {
      if (Number.isSafeInteger(data?.open)) open(data?.open as number);
    };
    workers?.addEventListener('message', listen);
    return () => workers?.removeEventListener('message', listen);
  }, [open]);
}
