import { Menu, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../data/application.tsx';
import { endSession } from '../data/browser-session.ts';
import { useCheck } from '../data/queries.ts';
import { useOwnRoleTitle } from '../data/role-title.ts';
import { session } from '../data/session.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import classes from './user-menu.module.css';

const schemes = [
  ['light', 'sun'],
  ['dark', 'moon'],
  ['auto', 'monitor'],
] as const satisfies readonly (readonly [string, IconName])[];

/** The menu of the current user: role, appearance, account and sign-out. */
export function UserMenu({ compact = false }: { compact?: boolean }): ReactNode {
  const t = useTexts().shell;
  const application = useApplication();
  const navigate = useNavigate();
  const { data: check } = useCheck();
  const roleTitle = useOwnRoleTitle();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const name = check?.nickname || check?.email || '…';
  return (
    <Menu position={compact ? 'bottom-end' : 'top-start'} width={220}>
      <Menu.Target>
        <UnstyledButton
          className={classes.target}
          data-compact={compact || undefined}
          {...(compact && { 'aria-label': `${t.account}: ${name}` })}
        >
          <span className={classes.avatar} aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
          {!compact && (
            <span className={classes.words}>
              <span className={classes.name}>{name}</span>
              <span className={classes.role}>{check && roleTitle(check.currentRole)}</span>
            </span>
          )}
          {!compact && <Icon name="selector" size={14} />}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {check && <Menu.Label>{check.email ?? name}</Menu.Label>}
        <Menu.Item
          leftSection={<Icon name="user" size={14} />}
          onClick={() => void navigate({ to: '/a/$app/account', params: { app: application } })}
        >
          {t.yourAccount}
        </Menu.Item>
        {check && check.roles.length > 1 && (
          <>
            {check.roles.map((role) => (
              <Menu.Item
                key={role}
                leftSection={<Icon name={role === check.currentRole ? 'check' : 'shield'} size={14} />}
                onClick={() => session.actAs(application, role)}
              >
                {t.actAs(roleTitle(role))}
              </Menu.Item>
            ))}
            <Menu.Divider />
          </>
        )}
        <Menu.Label>{t.theme.label}</Menu.Label>
        {schemes.map(([scheme, icon]) => (
          <Menu.Item
            key={scheme}
            leftSection={<Icon name={icon} size={14} />}
            rightSection={colorScheme === scheme && <Icon name="check" size={14} />}
            onClick={() => setColorScheme(scheme)}
            closeMenuOnClick={false}
          >
            {t.theme[scheme]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="signOut" size={14} />} onClick={() => void endSession(application)}>
          {t.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
