/** What the list of keys and the page of one share. */
import { Autocomplete } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { StateBadge } from '../access/badges.tsx';
import { ToldOnce } from '../access/told-once.tsx';
import type { ApiKey, MadeKey } from '../access/wire.ts';
import { keyState } from './key-state.ts';

export function KeyStateBadge({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const { states } = useAccessTexts().keys;
  const state = keyState(apiKey);
  const tones = { active: 'good', soon: 'careful', over: 'bad', inactive: 'bad' } as const;
  return <StateBadge tone={tones[state]}>{states[state]}</StateBadge>;
}

interface LifetimeProps {
  readonly label: string;
  readonly description: string;
  readonly data: readonly string[];
  readonly value: string;
  readonly change: (value: string) => void;
  readonly error: string | undefined;
}

/** A time such as `30d`, of one's own or from the list. */
export function Lifetime({ data, change, ...rest }: LifetimeProps): ReactNode {
  return <Autocomplete {...rest} data={[...data]} onChange={change} />;
}

export const lifetimes = ['24h', '7d', '30d', '90d', '1y', 'never'];
export const overlaps = ['none', '1h', '24h', '7d'];

/** The token of a key that was just made. */
export function TokenDialog({ made, done }: { made: MadeKey | null; done: () => void }): ReactNode {
  const t = useAccessTexts().keys;
  const application = useApplication();
  const app = application === 'main' ? '' : ` -H "X-App: ${application}"`;
  const code = `curl -H "Authorization: Bearer $KEY"${app} ${location.origin}/api/auth:check`;
  return (
    <ToldOnce
      title={t.tokenTitle}
      text={t.tokenText}
      label={t.token}
      secret={made?.token ?? null}
      use={{ text: t.tokenUse, code }}
      doneLabel={t.tokenDone}
      done={done}
    />
  );
}
