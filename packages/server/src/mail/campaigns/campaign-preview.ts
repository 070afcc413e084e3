/** Who would get a campaign, who is left out and why, and what the first messages look like. Changes nothing. */
import { findSuppressed } from '../../database/mail/suppression-rows.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { type Audience, type AudienceRecord, readAudience } from './campaign-audience.ts';
import { campaignLimits } from './campaign-limits.ts';
import { noLinks } from './campaign-links.ts';
import { renderCampaign } from './campaign-mail.ts';
import { type CampaignContent, listVariables } from './campaign-template.ts';

/** A campaign that is previewed; it need not be stored. */
export interface PreviewedCampaign extends CampaignContent {
  readonly accountId: number;
  readonly audience: Audience;
}

/** Nothing is counted in a preview, and nobody unsubscribes. */
const previewLinks = { ...noLinks, unsubscribeUrl: '#unsubscribe' };

/** Why a record gets no message. */
export type LeftOutReason = 'noAddress' | 'duplicate' | 'suppressed';

/** The reply of a preview. */
export interface CampaignPreview {
  readonly recipients: number;
  /** Records that were examined. False `complete`: the audience has more. */
  readonly records: number;
  readonly complete: boolean;
  readonly leftOut: readonly {
    readonly reason: LeftOutReason;
    readonly count: number;
    readonly examples: readonly { readonly key: string; readonly address: string | null }[];
  }[];
  readonly messages: readonly (CampaignContent & { readonly key: string; readonly address: string })[];
}

/** @throws ApiError as a list of the audience would. */
export async function previewCampaign(context: RecordContext, campaign: PreviewedCampaign): Promise<CampaignPreview> {
  const survey = new Survey();
  const messages: CampaignPreview['messages'][number][] = [];
  const variables = listVariables(campaign);
  let after: string | null = null;
  let records = 0;
  do {
    const page = await readAudience(context, {
      audience: campaign.audience,
      variables,
      pageSize: campaignLimits.audiencePage,
      after,
    });
    records += page.records.length;
    const addresses = page.records.flatMap(({ address }) => address ?? []);
    const suppressed = await findSuppressed(context.database, null, campaign.accountId, addresses);
    for (const { key, address, values } of survey.select(page.records, suppressed))
      if (messages.length < campaignLimits.previewMessages)
        messages.push({ key, address, ...renderCampaign(campaign, { values, links: previewLinks }) });
    after = page.nextCursor;
  } while (after !== null && records < campaignLimits.previewRecords);
  return { recipients: survey.recipients, records, complete: after === null, leftOut: survey.leftOut, messages };
}

type Recipient = AudienceRecord & { readonly address: string };

class Survey {
  readonly #seen = new Set<string>();
  readonly #leftOut = new Map<LeftOutReason, { count: number; examples: { key: string; address: string | null }[] }>();
  recipients = 0;

  /** The records of a page that get a message. */
  select(records: readonly AudienceRecord[], suppressed: ReadonlyMap<string, string>): Recipient[] {
    return records.filter((record): record is Recipient => {
      const { key, address } = record;
      if (address === null) return this.#leaveOut('noAddress', key, null);
      if (this.#seen.has(address)) return this.#leaveOut('duplicate', key, address);
      this.#seen.add(address);
      if (suppressed.has(address)) return this.#leaveOut('suppressed', key, address);
      this.recipients += 1;
      return true;
    });
  }

  get leftOut(): CampaignPreview['leftOut'] {
    return [...this.#leftOut].map(([reason, rest]) => ({ reason, ...rest }));
  }

  #leaveOut(reason: LeftOutReason, key: string, address: string | null): false {
    const entry = this.#leftOut.get(reason) ?? { count: 0, examples: [] };
    entry.count += 1;
    if (entry.examples.length < campaignLimits.previewExamples) entry.examples.push({ key, address });
    this.#leftOut.set(reason, entry);
    return false;
  }
}
