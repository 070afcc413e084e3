import type { RecordValues } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { User } from '../access/dto.ts';
import { UserForm } from './user-form.tsx';
import { getUserName } from './users-page.tsx';

export function NewUserPage(): ReactNode {
  const t = useAccessTexts().users;
  const app = useApplication();
  const navigate = useNavigate();
  const create = useApiMutation<User, RecordValues>({
    write: (client, values) => client.records<User>('users').create(values),
    changes: ['users'],
    done: async (user) => {
      toast(t.createdToast(getUserName(user)));
      await navigate({ to: '/a/$app/access/users/$user', params: { app, user: String(user.id) } });
    },
  });
  const above = (
    <TextLink to="/a/$app/access/users" params={{ app }}>
      {t.all}
    </TextLink>
  );
  return (
    <Page title={t.create} above={above}>
      <Allowed resource="users" action="create">
        <UserForm user={null} save={create.mutate} saving={create.isPending} error={create.error} />
      </Allowed>
    </Page>
  );
}
