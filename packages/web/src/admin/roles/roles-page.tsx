import { Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { getTitle } from '../../data/field-names.ts';
import { ListPage } from '../../data/list-page.tsx';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { useRoles } from '../access/access-queries.ts';
import { NameBadges } from '../access/badges.tsx';
import type { Role } from '../access/dto.ts';
import { TitleFields } from '../access/title-fields.tsx';

/** The list of roles, with a dialog that creates one. */
export function RolesPage(): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { roles: labels } = access;
  const app = useApplication();
  const roles = useRoles();
  const listBadges = (role: Role): string[] => [
    ...(role.allowConfigure ? [labels.badges.configure] : []),
    ...(role.default ? [labels.badges.default] : []),
    ...(role.builtIn ? [labels.builtIn] : []),
  ];
  return (
    <ListPage
      title={labels.title}
      description={labels.description}
      resource="roles"
      query={roles}
      create={{ label: labels.create, form: (close) => <NewRole cancel={close} /> }}
      keyOf={(role) => role.name}
      columns={[
        {
          title: labels.roleTitle,
          width: '22%',
          render: (role) => (
            <TextLink to="/a/$app/access/roles/$role" params={{ app, role: role.name }} fw={500}>
              {getTitle(role)}
            </TextLink>
          ),
        },
        { title: t.common.name, render: (role) => <span className="code">{role.name}</span> },
        {
          title: t.common.description,
          render: (role) => (
            <Text size="sm" c="dimmed">
              {role.description}
            </Text>
          ),
        },
        { title: '', render: (role) => <NameBadges names={listBadges(role)} /> },
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
  const create = useApiMutation({
    write: (client) =>
      client
        .records<Role>('roles')
        .create({ name: values.name, title: emptyToNull(values.title), description: emptyToNull(values.description) }),
    changes: ['roles'],
    done: ({ name }) => navigate({ to: '/a/$app/access/roles/$role', params: { app, role: name } }),
  });
  const problems = getErrorDetails(create.error);
  return (
    <DialogForm write={create} submitLabel={t.common.create} cancel={cancel}>
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
