import { Button, Group, Select, Text } from '@mantine/core';
import type { Filter } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { ListPage } from '../../data/list-page.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { SearchInput } from '../../ui/search-input.tsx';
import { useRoleOptions, useVisibleRoles } from '../access/access-queries.ts';
import { NameBadges, StateBadge } from '../access/badges.tsx';
import type { User } from '../access/dto.ts';
import type { UsersSearch } from '../access/list-search.ts';
import { useListSearch } from '../access/use-list-search.ts';

const pageSize = 50;

/** The display name of a user. */
export function getUserName({ nickname, email, username, id }: User): string {
  return nickname || email || username || `#${id}`;
}

/** The list of users, with filters for name, role and status. */
export function UsersPage(): ReactNode {
  const t = useAccessTexts().users;
  const app = useApplication();
  const [search, go] = useListSearch<UsersSearch>();
  const { q, page = 1 } = search;
  const users = useApiQuery(
    ['users', 'list', search],
    (client, signal) =>
      client.records<User>('users').list(
        {
          ...(q && { search: q }),
          filter: buildUserFilter(search),
          appends: ['roles'],
          sort: ['id'],
          page,
          pageSize,
        },
        { signal },
      ),
    { keepPreviousData: true },
  );
  const link = (
    <ButtonLink to="/a/$app/access/users/new" params={{ app }} leftSection={<Icon name="plus" />}>
      {t.create}
    </ButtonLink>
  );
  const clear = (
    <Button variant="default" onClick={() => go({ q: '', role: '', status: '' })}>
      {t.clear}
    </Button>
  );
  return (
    <ListPage
      title={t.title}
      description={t.description}
      resource="users"
      query={users}
      create={{ link }}
      filters={<Filters search={search} go={go} />}
      empty={{ icon: 'users', title: t.emptyTitle, text: t.emptyText, next: clear }}
      go={(next) => go({ page: next })}
      keyOf={(user) => user.id}
      columns={[
        { title: t.person, render: (user) => <Person user={user} /> },
        { title: t.roles, render: (user) => <NameBadges names={(user.roles ?? []).map(getTitle)} /> },
        {
          title: t.status,
          render: (user) => (
            <StateBadge tone={user.status === 'active' ? 'good' : 'bad'}>
              {t.statuses[user.status] ?? user.status}
            </StateBadge>
          ),
        },
        { title: t.created, render: (user) => <DateTime value={user.createdAt} /> },
      ]}
    />
  );
}

function Person({ user }: { user: User }): ReactNode {
  const app = useApplication();
  return (
    <div>
      <TextLink to="/a/$app/access/users/$user" params={{ app, user: String(user.id) }} fw={500}>
        {getUserName(user)}
      </TextLink>
      {user.nickname && (
        <Text size="xs" c="dimmed">
          {user.email ?? user.username}
        </Text>
      )}
    </div>
  );
}

function buildUserFilter({ role, status }: UsersSearch): Filter | undefined {
  const parts = [...(role ? [{ 'roles.name': role }] : []), ...(status ? [{ status }] : [])];
  return parts.length === 0 ? undefined : { $and: parts };
}

interface SearchProps {
  readonly search: UsersSearch;
  readonly go: (change: Partial<UsersSearch>) => void;
}

function Filters({ search, go }: SearchProps): ReactNode {
  const t = useAccessTexts().users;
  const roles = useVisibleRoles();
  const offered = useRoleOptions((roles ?? []).map((role) => role.name));
  return (
    <Group gap="xs">
      <SearchInput text={search.q ?? ''} go={(q) => go({ q })} aria-label={t.search} placeholder={t.search} w={260} />
      <Select
        aria-label={t.role}
        placeholder={t.anyRole}
        data={offered}
        value={search.role ?? null}
        onChange={(role) => go({ role: role ?? '' })}
        clearable
        searchable
        w={160}
      />
      <Select
        aria-label={t.status}
        placeholder={t.anyStatus}
        data={Object.entries(t.statuses).map(([value, label]) => ({ value, label }))}
        value={search.status ?? null}
        onChange={(status) => go({ status: status ?? '' })}
        clearable
        w={150}
      />
    </Group>
  );
}
