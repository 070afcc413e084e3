/** Parts that the list of API keys and the page of one key share. */
import { Autocomplete } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { StateBadge } from '../access/badges.tsx';
import type { ApiKey, CreatedApiKey } from '../access/dto.ts';
import { SecretDialog } from '../access/secret-dialog.tsx';
import { getKeyState } from './key-state.ts';

export function KeyStateBadge({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const { states } = useAccessTexts().keys;
  const state = getKeyState(apiKey);
  const tones = { active: 'good', soon: 'careful', over: 'bad', inactive: 'bad' } as const;
  return <StateBadge tone={tones[state]}>{states[state]}</StateBadge>;
}

interface LifetimeInputProps {
  readonly label: string;
  readonly description: string;
  readonly data: readonly string[];
  readonly value: string;
  readonly change: (value: string) => void;
  readonly error: string | undefined;
}

/** The input of a duration such as `30d`, typed or chosen from a list. */
export function LifetimeInput({ data, change, ...rest }: LifetimeInputProps): ReactNode {
  return <Autocomplete {...rest} data={[...data]} onChange={change} />;
}

export const lifetimes = ['24h', '7d', '30d', '90d', '1y', 'never'];
export const overlaps = ['none', '1h', '24h', '7d'];

/** Shows the token of a new key. */
export function TokenDialog({ createdKey, done }: { createdKey: CreatedApiKey | null; done: () => void }): ReactNode {
  const t = useAccessTexts().keys;
  const application = useApplication();
  const app = application === 'main' ? '' : ` -H "X-App: ${application}"`;
  const code = `curl -H "Authorization: Bearer $KEY"${app} ${location.origin}/api/auth:check`;
  return (
    <SecretDialog
      title={t.tokenTitle}
      text={t.tokenText}
      label={t.token}
      secret={createdKey?.token ?? null}
      usage={{ text: t.tokenUse, code }}
      doneLabel={t.tokenDone}
      done={done}
    />
  );
}
