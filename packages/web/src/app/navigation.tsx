import { NavLink, ScrollArea, UnstyledButton } from '@mantine/core';
import { Link, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../data/application.tsx';
import { getTitle } from '../data/field-names.ts';
import { useCheck } from '../data/queries.ts';
import { useSchema } from '../data/schema.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { ShortcutKbd } from '../ui/kbd.tsx';
import classes from './navigation.module.css';
import { listVisibleSections } from './sections.ts';

/** The sections of the navigation, with the collections below the data section. */
export function Navigation({ search }: { search: () => void }): ReactNode {
  const t = useTexts().shell;
  const application = useApplication();
  const { data: check } = useCheck();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const base = `/a/${application}/`;
  const { data: schema } = useSchema();
  const visibleSections = listVisibleSections(check, schema);
  return (
    <nav className={classes.navigation} aria-label={t.navigation}>
      <UnstyledButton className={classes.search} onClick={search}>
        <Icon name="search" />
        <span>{t.palette.open}</span>
        <ShortcutKbd keys="mod+K" />
      </UnstyledButton>
      <ScrollArea className={classes.list} type="auto" scrollbarSize={8}>
        {visibleSections.map(({ id, icon, path: to, group }, index) => (
          <div key={id}>
            {group && visibleSections[index - 1]?.group !== group && (
              <p className={classes.group}>{t.sections[group]}</p>
            )}
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

/** Collections shown in the navigation; the others are found by search and on the page of all collections. */
const maxListed = 200;

function Collections({ path }: { path: string }): ReactNode {
  const application = useApplication();
  const { data: schema } = useSchema();
  const userCollections = (schema?.collections ?? []).filter((each) => !each.system).slice(0, maxListed);
  return userCollections.map((collection) => {
    const to = `/a/${application}/data/${collection.name}`;
    return (
      <NavLink
        key={collection.name}
        component={Link}
        to={to}
        label={getTitle(collection)}
        active={path === to || path.startsWith(`${to}/`)}
        className={classes.collection}
      />
    );
  });
}
