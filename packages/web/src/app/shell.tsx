/** The frame of every page of an application: navigation, switchers and search. */
import { Alert, Drawer } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { GalleryHost } from '../admin/files/gallery-host.tsx';
import { useOnline } from '../data/online.ts';
import { useServerUnreachable } from '../data/reachability.ts';
import { ConfirmHost } from '../ui/confirm.tsx';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { ApplicationSwitcher } from './application-switcher.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { Navigation } from './navigation.tsx';
import { Palette } from './palette.tsx';
import classes from './shell.module.css';
import { useShortcuts } from './shortcuts.ts';
import { UserMenu } from './user-menu.tsx';

export function Shell({ children }: { children: ReactNode }): ReactNode {
  const t = useTexts().shell;
  const isNarrow = useMediaQuery('(max-width: 48em)', matchMedia('(max-width: 48em)').matches);
  const [palette, { open: openPalette, close: closePalette }] = useDisclosure(false);
  const isOnline = useOnline();
  const isUnreachable = useServerUnreachable();
  const path = useRouterState({ select: (state) => state.location.pathname });
  // On narrow screens the menu covers the page, so it is closed by a navigation.
  const [menuPath, setMenuPath] = useState<string | null>(null);
  useShortcuts(openPalette);
  const navigation = <Navigation search={openPalette} />;
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#content">
        {t.skip}
      </a>
      {isNarrow ? (
        <>
          <header className={classes.bar}>
            <IconButton icon="menu" label={t.menu} onClick={() => setMenuPath(path)} />
            <ApplicationSwitcher />
            <IconButton icon="search" label={t.palette.open} onClick={openPalette} />
            <UserMenu compact />
          </header>
          <Drawer
            opened={menuPath === path}
            onClose={() => setMenuPath(null)}
            size="17rem"
            padding={0}
            withCloseButton={false}
            title={null}
            attributes={{ content: { 'aria-label': t.menu } }}
          >
            <div className={classes.drawer}>{navigation}</div>
          </Drawer>
        </>
      ) : (
        <aside className={classes.side}>
          <div className={classes.top}>
            <ApplicationSwitcher />
          </div>
          {navigation}
          <UserMenu />
        </aside>
      )}
      <main id="content" className={classes.content} tabIndex={-1}>
        {(!isOnline || isUnreachable) && (
          <Alert
            className={classes.offline}
            color="yellow"
            variant="light"
            role="status"
            icon={<Icon name="offline" />}
          >
            {isOnline ? t.serverUnreachable : t.offline}
          </Alert>
        )}
        <ErrorBoundary key={path}>{children}</ErrorBoundary>
      </main>
      <Palette opened={palette} close={closePalette} />
      <ConfirmHost />
      <GalleryHost path={path} />
    </div>
  );
}
