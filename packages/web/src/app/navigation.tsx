import { NavLink, ScrollArea, UnstyledButton } from '@mantine/core';
import { Link, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../data/application.tsx';
import { useCheck } from '../data/queries.ts';
import { titleOf, useSchema } from '../data/schema.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { Keys } from '../ui/keys.tsx';
import classes from './navigation.module.css';
import { sections } from './sections.ts';

/** The sections, and below the data its collections. */
export function Navigation({ search }: { search: () => void }): ReactNode {
  const t = useTexts().shell;
  const application = useApplication();
  const { data: check } = useCheck();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const base = `/a/${application}/`;
  const { data: schema } = useSchema();
  const shown = sections.filter((section) => !section.shown || (check && schema && section.shown(check, schema)));
  return (
    <nav className={classes.navigation} aria-label={t.navigation}>
      <UnstyledButton className={classes.search} onClick={search}>
        <Icon name="search" />
        <span>{t.palette.open}</span>
        <Keys of="mod+K" />
      </UnstyledButton>
      <ScrollArea className={classes.list} type="auto" scrollbarSize={8}>
        {shown.map(({ id, icon, path: to, group }, index) => (
          <div key={id}>
            {group && shown[index - 1]?.group !== group && <p className={classes.group}>{t.sections[group]}</p>}
            <NavLink
              component={Link}
              to={base + to}
              label={t.sections[id]}
              leftSection={<Icon name={icon} />}
              active={id === 'data' ? path === base + to : path.startsWith(base + to)}
              className={classes.section}
            />
            {id === 'data' && <Collections path={path} />}
          </div>
        ))}
      </ScrollArea>
    </nav>
  );
}

/** More of them are found by search and on the page of all. */
const mostListed = 200;

function Collections({ path }: { path: string }): ReactNode {
  const application = useApplication();
  const { data: schema } = useSchema();
  const own = (schema?.collections ?? []).filter((each) => !each.system).slice(0, mostListed);
  return own.map((collection) => {
    const to = `/a/${application}/data/${collection.name}`;
    return (
      <NavLink
        key={collection.name}
        component={Link}
        to={to}
        label={titleOf(collection)}
        active={path === to || path.startsWith(`${to}/`)}
        className={classes.collection}
      />
    );
  });
}
