import type { ReactNode } from 'react';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { StateBadge } from '../access/badges.tsx';
import type { Webhook } from '../access/dto.ts';

export type WebhookState = 'on' | 'off' | 'paused' | 'failing';

export function getWebhookState({ enabled, pausedAt, failingSince }: Webhook): WebhookState {
  if (pausedAt !== null) return 'paused';
  if (!enabled) return 'off';
  return failingSince === null ? 'on' : 'failing';
}

const tones = { on: 'good', off: 'plain', paused: 'bad', failing: 'careful' } as const;

export function WebhookStateBadge({ webhook }: { webhook: Webhook }): ReactNode {
  const { states } = useAccessTexts().webhooks;
  const state = getWebhookState(webhook);
  return <StateBadge tone={tones[state]}>{states[state]}</StateBadge>;
}
