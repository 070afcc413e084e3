import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Client } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useAccounts } from '../mail-queries.ts';
import { type Campaign, type CampaignPreview, campaignKeys } from './campaign-data.ts';

type Step = 'start' | 'pause' | 'resume' | 'cancel';

/** The buttons of what can be done with a campaign now. Changes of the form are saved before, by its own button. */
export function CampaignSteps({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const t = useInboxTexts().campaigns;
  const may = useMay();
  const [isScheduling, dialog] = useDisclosure(false);
  const { id, status } = campaign;
  const { step, start, test, destroy } = useCampaignActions(campaign);
  const maySend = may('mailCampaigns', 'start');
  const isOpen = status === 'sending' || status === 'paused' || status === 'scheduled';
  const cancel = async (): Promise<void> => {
    const question = { title: t.cancelTitle, text: t.cancelText, confirmLabel: t.steps.cancel, danger: true };
    if (await confirm(question)) await step('cancel');
  };
  return (
    <Group gap="xs">
      {status === 'draft' && maySend && (
        <>
          <StepButton run={test}>{t.steps.test}</StepButton>
          <StepButton run={dialog.open}>{t.steps.schedule}</StepButton>
        </>
      )}
      {(status === 'sending' || status === 'scheduled') && may('mailCampaigns', 'pause') && (
        <StepButton run={() => step('pause')}>{t.steps.pause}</StepButton>
      )}
      {isOpen && may('mailCampaigns', 'cancel') && <StepButton run={cancel}>{t.steps.cancel}</StepButton>}
      {!isOpen && may('mailCampaigns', 'destroy') && <StepButton run={destroy}>{t.steps.destroy}</StepButton>}
      {status === 'paused' && maySend && <Button onClick={() => void step('resume')}>{t.steps.resume}</Button>}
      {status === 'draft' && maySend && <Button onClick={() => void start()}>{t.steps.start}</Button>}
      <Modal opened={isScheduling} onClose={dialog.close} title={t.steps.scheduleTitle}>
        <ScheduleForm id={id} close={dialog.close} />
      </Modal>
    </Group>
  );
}

function StepButton({ run, children }: { readonly run: () => unknown; readonly children: ReactNode }): ReactNode {
  return (
    <Button variant="default" onClick={() => void run()}>
      {children}
    </Button>
  );
}

interface CampaignActions {
  readonly step: (step: Step) => Promise<void>;
  readonly start: () => Promise<void>;
  readonly test: () => Promise<void>;
  readonly destroy: () => Promise<void>;
}

function useCampaignActions({ id, accountId }: Campaign): CampaignActions {
  const t = useInboxTexts().campaigns;
  const app = useApplication();
  const navigate = useNavigate();
  const { data: accounts } = useAccounts();
  const step = useActionMutation({
    write: (client: Client, name: Step) => client.mailCampaigns[name](id),
    changes: campaignKeys,
  });
  const start = useActionMutation({
    write: async (client: Client) => {
      const { recipients } = (await client.mailCampaigns.preview({ id })) as unknown as CampaignPreview;
      const question = { title: t.startTitle, text: t.startText(recipients), confirmLabel: t.steps.start };
      if (await confirm(question)) await client.mailCampaigns.start(id);
    },
    changes: campaignKeys,
  });
  const address = accounts?.ownAccounts.find((each) => each.id === accountId)?.address ?? '';
  const test = useActionMutation({
    write: (client: Client) => client.mailCampaigns.test(id),
    changes: [],
    done: () => toast(t.steps.tested(address)),
  });
  const destroy = useActionMutation({
    write: async (client: Client) => {
      const question = { title: t.destroyTitle, text: t.destroyText, confirmLabel: t.steps.destroy, danger: true };
      if (!(await confirm(question))) return;
      await client.records('mailCampaigns').destroy(id);
      await navigate({ to: '/a/$app/inbox/campaigns', params: { app } });
    },
    changes: campaignKeys,
  });
  return { step, start, test, destroy };
}

function ScheduleForm({ id, close }: { readonly id: number; readonly close: () => void }): ReactNode {
  const texts = useTexts().common;
  const t = useInboxTexts().campaigns.steps;
  const [at, setAt] = useState('');
  const schedule = useApiMutation({
    write: (client) => client.mailCampaigns.schedule(id, new Date(at).toISOString()),
    changes: campaignKeys,
    done: close,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    schedule.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          type="datetime-local"
          label={t.scheduleAt}
          value={at}
          onChange={(event) => setAt(event.currentTarget.value)}
          data-autofocus
          required
        />
        <FormProblem error={schedule.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {texts.cancel}
          </Button>
          <Button type="submit" loading={schedule.isPending}>
            {texts.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
