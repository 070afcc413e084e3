import type { FilledTemplate } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { ChoiceList } from '../../ui/choice-list.tsx';
import { ChoiceModal } from '../../ui/choice-modal.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { useTemplates } from '../templates/template-data.ts';
import { isAddress, parseAddress } from './addresses.ts';

interface TemplatePickerProps {
  readonly opened: boolean;
  readonly close: () => void;
  readonly accountId: number | null;
  /** The first recipient, as a text; absent without one. */
  readonly recipient: string | undefined;
  readonly conversation: number | null;
  readonly insert: (filled: FilledTemplate) => void;
}

/** Chooses a template, and fills it with the values of the message. */
export function TemplatePicker(props: TemplatePickerProps): ReactNode {
  const { opened, close, accountId, recipient, conversation, insert } = props;
  const t = useComposeTexts().templates;
  const client = getClient(useApplication());
  const { data = [], isPending, isError } = useTemplates(opened ? accountId : null);
  const choices = data.map(({ id, name, subject }) => ({
    key: String(id),
    label: name,
    icon: 'note' as const,
    aside: subject.slice(0, 40),
    id,
  }));
  const choose = async (id: number): Promise<void> => {
    close();
    try {
      const filled = await client.mailTemplates.fill({
        id,
        ...(recipient !== undefined && isAddress(recipient) && { recipient: parseAddress(recipient) }),
        ...(conversation !== null && { conversation }),
      });
      insert(filled);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  return (
    <ChoiceModal opened={opened} close={close} label={t.insert} size="sm" keepsKeys>
      <ChoiceList
        label={t.insert}
        placeholder={t.insert}
        listLabel={t.title}
        findChoices={(typed) => choices.filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase()))}
        choose={({ id }) => void choose(id)}
        empty={isError ? t.notLoaded : isPending ? '' : t.none}
      />
    </ChoiceModal>
  );
}
