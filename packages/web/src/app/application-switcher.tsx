import { Menu, UnstyledButton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../data/application.tsx';
import { enterApplication } from '../data/browser-session.ts';
import { getErrorMessage } from '../data/problem.tsx';
import { useApplications, useCheck } from '../data/queries.ts';
import { isServerAdmin } from '../data/server-admin.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import mark from '../ui/theme/mark.svg';
import { toast } from '../ui/toasts.tsx';
import classes from './application-switcher.module.css';

/**
 * Shows the current application and switches to others. An administrator of main enters them without another password.
 */
export function ApplicationSwitcher(): ReactNode {
  const t = useTexts().shell;
  const application = useApplication();
  const navigate = useNavigate();
  const { data: check } = useCheck();
  const inMain = check !== undefined && isServerAdmin(check);
  const { data: listed } = useApplications(inMain);
  const names = listed?.filter(({ status }) => status !== 'stopped').map(({ name }) => name) ?? [
    ...new Set(['main', application]),
  ];
  const go = async (name: string): Promise<void> => {
    try {
      if (inMain && name !== 'main') await enterApplication(name, 'main');
      await navigate({ to: '/a/$app/data', params: { app: name } });
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  const display = check?.applicationDisplayName || application;
  return (
    <Menu width="target" position="bottom-start">
      <Menu.Target>
        <UnstyledButton className={classes.target} aria-label={`${t.switchApplication}: ${display}`}>
          <img src={mark} alt="" width={24} height={24} />
          <span className={classes.name}>{display}</span>
          <Icon name="selector" size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.application}</Menu.Label>
        {names.map((name) => (
          <Menu.Item
            key={name}
            onClick={() => void go(name)}
            leftSection={<Icon name={name === application ? 'check' : 'apps'} size={14} />}
          >
            {name === application ? display : listed?.find((each) => each.name === name)?.displayName || name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
