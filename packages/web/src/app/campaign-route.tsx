import type { ReactNode } from 'react';
import { FilterBuilder } from '../admin/filter/filter-builder.tsx';
import { CampaignPage } from '../inbox/campaigns/campaign-page.tsx';

/** The page of a campaign, with the filter editor of the records: pages of the inbox do not import those of the administration. */
export function CampaignRoute(): ReactNode {
  return <CampaignPage filterEditor={FilterBuilder} />;
}
