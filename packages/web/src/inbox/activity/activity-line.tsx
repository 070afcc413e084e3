import { Drawer, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import classes from './activity-line.module.css';
import { useCampaignActivity } from './campaign-activity.ts';

/** The latest campaign event in one line, with a list of the earlier ones. Hidden while there are none. */
export function ActivityLine(): ReactNode {
  const t = useInboxTexts().activity;
  const activities = useCampaignActivity();
  const [opened, panel] = useDisclosure(false);
  const [last] = activities;
  if (!last) return null;
  return (
    <>
      <UnstyledButton className={classes.line} onClick={panel.open} title={t.title}>
        <Icon name="send" size={14} />
        <span className={classes.name}>{t.campaign(last.name)}</span>
        <span className={classes.facts}>{last.summary}</span>
        {activities.length > 1 && <span className={classes.more}>{activities.length}</span>}
      </UnstyledButton>
      <span className="visually-hidden" role="status">
        {t.campaign(last.name)}
      </span>
      <Drawer opened={opened} onClose={panel.close} title={t.title} position="right" size="24rem">
        <ol className={classes.list}>
          {activities.map(({ cursor, name, time, summary }) => (
            <li key={cursor}>
              <b>{t.campaign(name)}</b>
              <DateTime value={time} />
              {summary && <p>{summary}</p>}
            </li>
          ))}
        </ol>
      </Drawer>
    </>
  );
}
