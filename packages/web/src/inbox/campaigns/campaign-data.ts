/** Reads campaigns and their messages, and reads them again when something happens. */
import type { Filter, List } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useApplication } from '../../data/application.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';

export interface Campaign {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly audience: Audience;
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
  readonly ratePerMinute: number;
  readonly domainRatePerMinute: number | null;
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
  readonly status: 'draft' | 'scheduled' | 'sending' | 'paused' | 'done' | 'cancelled';
  readonly scheduledAt: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** Why the server has paused it. */
  readonly problem: string | null;
  readonly recipients: number;
  readonly leftOut: number;
  readonly sent: number;
  readonly failed: number;
  readonly unknown: number;
  readonly bounced: number;
  readonly replied: number;
  readonly unsubscribed: number;
  readonly skipped: number;
  readonly opened: number;
  readonly clicked: number;
}

export interface Audience {
  readonly collection: string;
  readonly filter: Filter | null;
  readonly field: string;
}

/** One recipient. */
export interface CampaignMessage {
  readonly id: number;
  readonly address: string;
  readonly status: string;
  readonly reason: string | null;
  readonly emailId: number | null;
  readonly queuedAt: string | null;
  readonly sentAt: string | null;
  readonly bouncedAt: string | null;
  readonly repliedAt: string | null;
  readonly unsubscribedAt: string | null;
}

export interface CampaignPreview {
  readonly recipients: number;
  readonly records: number;
  readonly complete: boolean;
  readonly leftOut: readonly { readonly reason: string; readonly count: number }[];
  readonly messages: readonly {
    readonly key: string;
    readonly address: string;
    readonly subject: string;
    readonly text: string | null;
    readonly html: string | null;
  }[];
}

/** The query keys that a change of a campaign invalidates. */
export const campaignKeys = ['mail-campaigns', 'mail-campaign', 'mail-campaign-messages'] as const;
export const messagesPerPage = 50;

export function useCampaigns(enabled = true): UseQueryResult<List<Campaign>, Error> {
  return useApiQuery(
    ['mail-campaigns'],
    async (client, signal) => {
      const query = { sort: ['-id'], pageSize: 200, except: ['text', 'html'] };
      return client.call<Campaign[], List<Campaign>['meta']>('mailCampaigns:list', { query, signal });
    },
    { enabled },
  );
}

/** @param id null: a new campaign, which is not read. */
export function useCampaign(id: number | null): UseQueryResult<Campaign, Error> {
  return useApiQuery(
    ['mail-campaign', id],
    async (client, signal) =>
      (await client.call<Campaign>('mailCampaigns:get', { query: { filterByTk: id ?? 0 }, signal })).data,
    { enabled: id !== null },
  );
}

/** A page of the recipients of a campaign, optionally only those with a status. */
export function useCampaignMessages(
  id: number,
  status: string | null,
  page: number,
): UseQueryResult<List<CampaignMessage>, Error> {
  return useApiQuery(
    ['mail-campaign-messages', id, status, page],
    async (client, signal) => {
      const filter = { campaignId: id, ...(status !== null && { status }) };
      const query = { filter, sort: ['id'], page, pageSize: messagesPerPage };
      return client.call<CampaignMessage[], List<CampaignMessage>['meta']>('mailCampaignMessages:list', {
        query,
        signal,
      });
    },
    { keepPreviousData: true },
  );
}

/** A campaign that sends reports many events in a second. */
const refreshMilliseconds = 700;

/** Reads campaigns again while something happens to them. */
export function useCampaignEvents(): void {
  const application = useApplication();
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const refresh = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      for (const key of campaignKeys) void invalidate(application, key);
    }, refreshMilliseconds);
  };
  useEffect(
    () => () => {
      if (timer.current) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  useRealtimeEvents('mailCampaigns', refresh, refresh, refresh);
}
