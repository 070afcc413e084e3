import { Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { titleOf } from '../../data/schema.ts';
import { detailsOf, orNull, useWrite } from '../../data/use-write.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { useRoles } from '../access/access-queries.ts';
import { NameBadges } from '../access/badges.tsx';
import { TitleFields } from '../access/title-fields.tsx';
import type { Role } from '../access/wire.ts';

/** Every role, and the way to a new one. */
export function RolesPage(): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { roles: words } = access;
  const app = useApplication();
  const roles = useRoles();
  const badgesOf = (role: Role): string[] => [
    ...(role.allowConfigure ? [words.badges.configure] : []),
    ...(role.default ? [words.badges.default] : []),
    ...(role.builtIn ? [words.builtIn] : []),
  ];
  return (
    <ListPage
      title={words.title}
      description={words.description}
      resource="roles"
      query={roles}
      create={{ label: words.create, form: (close) => <NewRole cancel={close} /> }}
      keyOf={(role) => role.name}
      columns={[
        {
          title: words.roleTitle,
          width: '22%',
          show: (role) => (
            <TextLink to="/a/$app/access/roles/$role" params={{ app, role: role.name }} fw={500}>
              {titleOf(role)}
            </TextLink>
          ),
        },
        { title: t.common.name, show: (role) => <span className="code">{role.name}</span> },
        {
          title: t.common.description,
          show: (role) => (
            <Text size="sm" c="dimmed">
              {role.description}
            </Text>
          ),
        },
        { title: '', show: (role) => <NameBadges names={badgesOf(role)} /> },
      ]}
    />
  );
}

function NewRole({ cancel }: { cancel: () => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const app = useApplication();
  const navigate = useNavigate();
  const [values, setValues] = useState({ name: '', title: '', description: '' });
  const create = useWrite({
    write: (client) =>
      client
        .records<Role>('roles')
        .create({ name: values.name, title: orNull(values.title), description: orNull(values.description) }),
    changes: ['roles'],
    done: ({ name }) => navigate({ to: '/a/$app/access/roles/$role', params: { app, role: name } }),
  });
  const problems = detailsOf(create.error);
  return (
    <DialogForm write={create} act={t.common.create} cancel={cancel}>
      <TextInput
        label={access.roles.name}
        description={access.roles.nameHint}
        value={values.name}
        onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        error={problems['name']}
        required
        data-autofocus
      />
      <TitleFields
        label={access.roles.roleTitle}
        title={values.title}
        description={values.description}
        problem={problems['title']}
        changeTitle={(title) => setValues({ ...values, title })}
        changeDescription={(description) => setValues({ ...values, description })}
      />
    </DialogForm>
  );
}
