import { Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { toast } from '../../ui/toasts.tsx';
import { followUpDays, getFollowUpTime } from '../compose/follow-up-times.ts';
import { invalidateThread, patchConversation } from '../mail-queries.ts';
import type { Conversation } from '../mail-types.ts';
import { formatMoment } from '../times.ts';

/** Sets and removes the reminder of a conversation that nobody answers. */
export function FollowUpButton({ conversation }: { readonly conversation: Conversation }): ReactNode {
  const t = useInboxTexts().team.followUp;
  const texts = useComposeTexts().followUp;
  const application = useApplication();
  const { id, followUpAt } = conversation;
  const write = useActionMutation<unknown, string | null>({
    write: (client, time) => client.post('conversations:update', { followUpAt: time }, { filterByTk: id }),
    changes: [],
    done: (_, time) => {
      patchConversation(application, id, { followUpAt: time });
      invalidateThread(application, id);
      toast(time === null ? t.removed : t.done(formatMoment(time)));
    },
  });
  return (
    <Menu position="bottom-start" withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <IconButton
          icon="bell"
          label={followUpAt ? t.until(formatMoment(followUpAt)) : texts.title}
          pressed={Boolean(followUpAt)}
        />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{texts.title}</Menu.Label>
        {followUpDays.map((days) => (
          <Menu.Item key={days} onClick={() => void write(getFollowUpTime(days, null))}>
            {texts.within(days)}
          </Menu.Item>
        ))}
        {followUpAt && <Menu.Item onClick={() => void write(null)}>{texts.never}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}
