/** The form of a user: name, roles and credentials. */
import { Button, Group, MultiSelect, PasswordInput, Select, Stack, TextInput } from '@mantine/core';
import type { RecordValues } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { emptyToNull, getErrorDetails } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { useRoleOptions, useVisibleRoles } from '../access/access-queries.ts';
import type { User } from '../access/dto.ts';

interface UserFormProps {
  /** Null for a new one. */
  readonly user: User | null;
  readonly save: (values: RecordValues) => void;
  readonly saving: boolean;
  readonly error: unknown;
}

export function UserForm({ user, save, saving, error }: UserFormProps): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.users;
  const known = useVisibleRoles();
  const [values, setValues] = useState(() => createDraft(user));
  const problems = getErrorDetails(error);
  const roles = [...new Set([...(known ?? []).map((role) => role.name), ...values.roles])].filter(
    (name) => name !== 'public',
  );
  const offered = useRoleOptions(roles);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save(toValues(values, user));
    setValues({ ...values, password: '' });
  };
  const text = (name: 'email' | 'username' | 'nickname') => ({
    label: labels[name],
    value: values[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setValues({ ...values, [name]: event.currentTarget.value }),
    error: problems[name],
    autoComplete: 'off',
  });
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" maw={520}>
        <TextInput {...text('email')} type="email" />
        <TextInput {...text('nickname')} />
        <TextInput {...text('username')} description={labels.usernameHint} />
        <PasswordInput
          label={labels.password}
          description={user ? labels.passwordChange : labels.passwordNew}
          value={values.password}
          onChange={(event) => setValues({ ...values, password: event.currentTarget.value })}
          error={problems['password']}
          autoComplete="new-password"
        />
        <MultiSelect
          label={labels.roles}
          description={values.roles.length === 0 ? labels.noRoles : undefined}
          data={offered}
          value={[...values.roles]}
          onChange={(next) => setValues({ ...values, roles: next })}
          error={problems['roles']}
          searchable
        />
        {values.roles.length > 1 && (
          <Select
            label={labels.defaultRole}
            description={labels.defaultRoleHint}
            data={offered.filter(({ value }) => values.roles.includes(value))}
            value={values.defaultRole}
            onChange={(defaultRole) => setValues({ ...values, defaultRole })}
            error={problems['defaultRole']}
            clearable
          />
        )}
        <FormProblem error={error} />
        <Group>
          <Button type="submit" loading={saving}>
            {user ? t.common.save : t.common.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface Draft {
  readonly email: string;
  readonly username: string;
  readonly nickname: string;
  readonly password: string;
  readonly roles: readonly string[];
  readonly defaultRole: string | null;
}

function createDraft(user: User | null): Draft {
  return {
    email: user?.email ?? '',
    username: user?.username ?? '',
    nickname: user?.nickname ?? '',
    password: '',
    roles: (user?.roles ?? []).map((role) => role.name),
    defaultRole: user?.defaultRole ?? null,
  };
}

/**
 * The values to write. For an existing user only the changed ones, because writing the e-mail address invalidates reset
 * links.
 */
function toValues(draft: Draft, user: User | null): RecordValues {
  const { password, roles, defaultRole } = draft;
  const given = {
    email: emptyToNull(draft.email),
    username: emptyToNull(draft.username),
    nickname: emptyToNull(draft.nickname),
    defaultRole: defaultRole !== null && roles.includes(defaultRole) ? defaultRole : null,
  };
  const secret = password === '' ? {} : { password };
  const named = roles.length === 0 && user === null ? {} : { roles }; // a new user gets the default roles
  if (!user)
    return { ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)), ...named, ...secret };
  const differing = Object.entries(given).filter(([name, value]) => user[name as keyof typeof given] !== value);
  const before = (user.roles ?? []).map((role) => role.name);
  const same = before.length === roles.length && before.every((name) => roles.includes(name));
  return { ...Object.fromEntries(differing), ...(!same && named), ...secret };
}
