import { Progress, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Section } from '../../data/section.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { Campaign } from './campaign-data.ts';
import classes from './campaigns.module.css';

const outcomes = [
  ['sent', 'verdigris'],
  ['opened', 'cyan'],
  ['clicked', 'teal'],
  ['replied', 'blue'],
  ['bounced', 'orange'],
  ['unsubscribed', 'grape'],
  ['failed', 'red'],
  ['unknown', 'yellow'],
  ['skipped', 'gray'],
] as const;

/** How far a campaign is, and a chart of what became of its messages. */
export function CampaignResults({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const t = useInboxTexts().campaigns;
  const { recipients, sent, failed, unknown, skipped, leftOut, scheduledAt, status } = campaign;
  const shown = outcomes.filter(
    ([name]) => (name !== 'opened' || campaign.trackOpens) && (name !== 'clicked' || campaign.trackClicks),
  );
  const done = sent + failed + unknown + skipped;
  const share = (count: number): number => (recipients === 0 ? 0 : (100 * count) / recipients);
  return (
    <>
      <Section title={t.progress}>
        <Stack gap="xs">
          {status === 'scheduled' && scheduledAt !== null && (
            <Text>
              {t.scheduledFor} <DateTime value={scheduledAt} />
            </Text>
          )}
          <Progress value={share(done)} aria-label={t.progress} color="verdigris" size="lg" />
          <Text className="tabular" role="status">
            {t.progressOf(done, recipients)}
          </Text>
          {leftOut > 0 && (
            <Text size="sm" c="dimmed">
              {t.leftOutHint(leftOut)}
            </Text>
          )}
        </Stack>
      </Section>
      <Section title={t.results} text={t.resultsText}>
        <dl className={classes.chart}>
          {shown.map(([name, color]) => (
            <ChartRow
              key={name}
              label={t.outcome(name)}
              count={t.count(campaign[name])}
              share={share(campaign[name])}
              color={color}
            />
          ))}
        </dl>
      </Section>
    </>
  );
}

/** Shares between 99 and 100 % are rounded down: only a complete share is shown as 100 %. */
function formatShare(share: number): string {
  if (share < 100 && share > 99) return (Math.floor(share * 10) / 10).toFixed(1);
  return share.toFixed(share < 10 ? 1 : 0);
}

interface ChartRowProps {
  readonly label: string;
  readonly count: string;
  /** In percent. */
  readonly share: number;
  readonly color: string;
}

function ChartRow({ label, count, share, color }: ChartRowProps): ReactNode {
  const style = { width: `${share}%`, '--bar-color': `var(--mantine-color-${color}-filled)` };
  return (
    <>
      <dt>{label}</dt>
      <dd aria-hidden="true">{share > 0 && <span className={classes.bar} style={style} />}</dd>
      <dd className="tabular">
        {count}
        {share > 0 && ` · ${formatShare(share)} %`}
      </dd>
    </>
  );
}
