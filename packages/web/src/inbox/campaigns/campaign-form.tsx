import { Button, Checkbox, Group, NumberInput, Select, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail-types.ts';
import { AudienceFields } from './audience-fields.tsx';
import { type Campaign, type CampaignPreview, campaignKeys } from './campaign-data.ts';
import type { FilterEditorComponent } from './campaign-page.tsx';
import { CampaignPreviewSection } from './campaign-preview.tsx';

interface CampaignFormProps {
  /** Null for a new one. */
  readonly campaign: Campaign | null;
  readonly accounts: readonly Account[];
  readonly filterEditor: FilterEditorComponent;
}

/** What the form edits. */
export type CampaignDraft = Pick<
  Campaign,
  | 'name'
  | 'accountId'
  | 'audience'
  | 'subject'
  | 'text'
  | 'html'
  | 'ratePerMinute'
  | 'domainRatePerMinute'
  | 'trackOpens'
  | 'trackClicks'
>;

export interface DraftFieldsProps {
  readonly draft: CampaignDraft;
  readonly change: (part: Partial<CampaignDraft>) => void;
  readonly problems: Readonly<Record<string, string>>;
}

const maxRate = 6000;

/** The editor of a draft, with a preview of the values as they are in the form. */
export function CampaignForm({ campaign, accounts, filterEditor }: CampaignFormProps): ReactNode {
  const t = useInboxTexts().campaigns;
  const app = useApplication();
  const navigate = useNavigate();
  const [draft, setDraft] = useState<CampaignDraft>(() => campaign ?? createCampaignDraft(accounts));
  const change = (part: Partial<CampaignDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const { accountId, ...values } = pickDraft(draft);
  const save = useApiMutation({
    write: (client) =>
      campaign
        ? client.records('mailCampaigns').update(campaign.id, values)
        : client.records('mailCampaigns').create({ ...values, accountId }),
    changes: campaignKeys,
    done: (saved) => {
      toast(t.saved);
      const params = { app, campaign: String(saved['id']) };
      if (!campaign) void navigate({ to: '/a/$app/inbox/campaigns/$campaign', params });
    },
  });
  const preview = useApiMutation({
    write: async (client) => {
      const previewed = { name: values.name, audience: values.audience, subject: values.subject, text: values.text };
      const body = { account: accountId, campaign: { ...previewed, html: values.html } };
      return (await client.mailCampaigns.preview(body)) as unknown as CampaignPreview;
    },
    changes: [],
  });
  const problems = getErrorDetails(save.error ?? preview.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // React also reports the form of the filter's dialog here, although it is elsewhere in the document.
    if (event.target !== event.currentTarget) return;
    preview.reset();
    save.mutate();
  };
  const fields = { draft, change, problems };
  return (
    <form onSubmit={submit}>
      <Stack gap="md" maw="52rem">
        <TextInput
          label={t.fields.name}
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={problems['name']}
          maxLength={255}
          autoComplete="off"
          required
        />
        <Select
          label={t.fields.account}
          data={accounts.map(({ id, address }) => ({ value: String(id), label: address }))}
          value={String(draft.accountId)}
          onChange={(id) => id !== null && change({ accountId: Number(id) })}
          error={problems['accountId']}
          disabled={campaign !== null}
          allowDeselect={false}
        />
        <AudienceFields {...fields} filterEditor={filterEditor} />
        <ContentFields {...fields} />
        <RateFields {...fields} />
        <TrackingFields {...fields} />
        <FormProblem error={save.error ?? preview.error} />
        <Group>
          <Button type="submit" loading={save.isPending}>
            {t.save}
          </Button>
          <Button
            variant="default"
            loading={preview.isPending}
            onClick={() => {
              save.reset();
              preview.mutate();
            }}
          >
            {t.preview.action}
          </Button>
        </Group>
        {preview.data && <CampaignPreviewSection preview={preview.data} />}
      </Stack>
    </form>
  );
}

function ContentFields({ draft, change, problems }: DraftFieldsProps): ReactNode {
  const t = useInboxTexts().campaigns.fields;
  return (
    <>
      <TextInput
        label={t.subject}
        value={draft.subject}
        onChange={(event) => change({ subject: event.currentTarget.value })}
        error={problems['subject']}
        maxLength={500}
        autoComplete="off"
      />
      <Textarea
        label={t.text}
        value={draft.text ?? ''}
        onChange={(event) => change({ text: event.currentTarget.value })}
        error={problems['text']}
        autosize
        minRows={6}
        maxRows={20}
      />
      <Textarea
        label={t.html}
        description={t.htmlHint}
        value={draft.html ?? ''}
        onChange={(event) => change({ html: event.currentTarget.value })}
        error={problems['html']}
        autosize
        minRows={3}
        maxRows={20}
        spellCheck={false}
      />
    </>
  );
}

function RateFields({ draft, change, problems }: DraftFieldsProps): ReactNode {
  const t = useInboxTexts().campaigns.fields;
  const range = { min: 1, max: maxRate, allowDecimal: false } as const;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <NumberInput
        {...range}
        label={t.rate}
        value={draft.ratePerMinute}
        onChange={(rate) => typeof rate === 'number' && change({ ratePerMinute: rate })}
        error={problems['ratePerMinute']}
      />
      <NumberInput
        {...range}
        label={t.domainRate}
        placeholder={t.noLimit}
        value={draft.domainRatePerMinute ?? ''}
        onChange={(rate) => change({ domainRatePerMinute: typeof rate === 'number' ? rate : null })}
        error={problems['domainRatePerMinute']}
      />
    </SimpleGrid>
  );
}

function TrackingFields({ draft, change }: DraftFieldsProps): ReactNode {
  const t = useInboxTexts().campaigns.fields;
  return (
    <Checkbox.Group
      label={t.tracking}
      description={t.trackingHint}
      value={(['trackOpens', 'trackClicks'] as const).filter((name) => draft[name])}
      onChange={(names) =>
        change({ trackOpens: names.includes('trackOpens'), trackClicks: names.includes('trackClicks') })
      }
    >
      <Group mt="xs">
        <Checkbox value="trackOpens" label={t.trackOpens} />
        <Checkbox value="trackClicks" label={t.trackClicks} />
      </Group>
    </Checkbox.Group>
  );
}

function createCampaignDraft(accounts: readonly Account[]): CampaignDraft {
  return {
    name: '',
    accountId: accounts[0]?.id ?? 0,
    audience: { collection: '', filter: null, field: '' },
    subject: '',
    text: '',
    html: '',
    ratePerMinute: 60,
    domainRatePerMinute: null,
    trackOpens: false,
    trackClicks: false,
  };
}

function pickDraft(draft: CampaignDraft): CampaignDraft {
  const { name, accountId, audience, subject, text, html, ratePerMinute, domainRatePerMinute } = draft;
  const { trackOpens, trackClicks } = draft;
  return {
    ...{ name, accountId, audience, subject, ratePerMinute, domainRatePerMinute, trackOpens, trackClicks },
    text: text || null,
    html: html?.trim() ? html : null,
  };
}
