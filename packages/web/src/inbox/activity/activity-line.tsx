import { Drawer, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { useCampaigns } from '../campaigns/campaign-data.ts';
import classes from './activity-line.module.css';
import { type Activity, useCampaignActivity } from './campaign-activity.ts';

/** The latest campaign event in one line, with a list of the earlier ones. Hidden while there are none. */
export function ActivityLine(): ReactNode {
  const t = useInboxTexts().activity;
  const activities = useCampaignActivity();
  const describe = useDescription(activities);
  const [opened, panel] = useDisclosure(false);
  const [last] = activities;
  if (!last) return null;
  return (
    <>
      <UnstyledButton className={classes.line} onClick={panel.open} title={t.title}>
        <Icon name="send" size={14} />
        <span className={classes.name}>{t.campaign(last.name)}</span>
        <span className={classes.facts}>{describe(last)}</span>
        {activities.length > 1 && <span className={classes.more}>{activities.length}</span>}
      </UnstyledButton>
      <span className="visually-hidden" role="status">
        {t.campaign(last.name)}
      </span>
      <Drawer opened={opened} onClose={panel.close} title={t.title} position="right" size="24rem">
        <ol className={classes.list}>
          {activities.map((activity) => (
            <li key={activity.cursor}>
              <b>{t.campaign(activity.name)}</b>
              <DateTime value={activity.time} />
              {activity.summary && <p>{describe(activity)}</p>}
            </li>
          ))}
        </ol>
      </Drawer>
    </>
  );
}

/** Describes an event: by the name of its campaign, or by its payload. Names are only read if there is such an event. */
function useDescription(activities: readonly Activity[]): (activity: Activity) => string {
  const isNamed = activities.some(({ campaign }) => campaign !== null);
  const { data } = useCampaigns(isNamed);
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return ({ campaign, summary }) => names.get(campaign ?? 0) ?? summary;
}
