import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { TextLink } from '../ui/links.tsx';
import { useApplication } from './application.tsx';
import { useApiQuery } from './queries.ts';
import { useMay } from './schema.ts';

/** Shows an actor such as `user:3` by name and with a link, if the role may see the user. */
export function Actor({ actor }: { actor: string }): ReactNode {
  const t = useTexts().common.actors;
  const app = useApplication();
  const may = useMay();
  const [, kind, id = ''] = /^(user|apiKey):(\d+)$/.exec(actor) ?? [];
  const resource = kind === 'apiKey' ? 'apiKeys' : 'users';
  const known = kind !== undefined && may(resource, 'get');
  const { data } = useApiQuery(['actor', actor], (client) => client.records(resource).get(Number(id)), {
    enabled: known,
    staleTime: 300_000,
  });
  if (kind === undefined) return actor;
  const name = String(
    data?.['nickname'] || data?.['email'] || data?.['name'] || (t[kind as keyof typeof t] ?? (() => actor))(id),
  );
  if (!data) return name;
  return kind === 'user' ? (
    <TextLink to="/a/$app/access/users/$user" params={{ app, user: id }} size="sm" underline="always">
      {name}
    </TextLink>
  ) : (
    <TextLink to="/a/$app/access/keys/$key" params={{ app, key: id }} size="sm" underline="always">
      {name}
    </TextLink>
  );
}
