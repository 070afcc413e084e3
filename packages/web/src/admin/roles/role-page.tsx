import { Alert, Button, Group, Stack, Switch, Text } from '@mantine/core';
import { Failure } from '@tablinum/client';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { getTitle } from '../../data/field-names.ts';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { NameBadges } from '../access/badges.tsx';
import type { RoleWithPermissions } from '../access/dto.ts';
import { TitleFields } from '../access/title-fields.tsx';
import { Explain } from './explain.tsx';
import { PermissionMatrix } from './permission-matrix.tsx';

const publicRole = 'public';

interface RoleData {
  readonly role: RoleWithPermissions;
  readonly publicRules: RoleWithPermissions['permissions'];
}

/** The page of one role: its labels, its permissions, and an explanation of single decisions. */
export function RolePage(): ReactNode {
  const t = useAccessTexts().roles;
  const app = useApplication();
  const { role: name = '' } = useParams({ strict: false });
  const roleQuery = useApiQuery(['roles', 'one', name], async (client, signal): Promise<RoleData> => {
    const roles = client.records<RoleWithPermissions>('roles');
    const role = await roles.get(name, { appends: ['permissions'] }, { signal });
    if (name === publicRole) return { role, publicRules: [] };
    return { role, publicRules: (await roles.get(publicRole, { appends: ['permissions'] }, { signal })).permissions };
  });
  const above = (
    <TextLink to="/a/$app/access/roles" params={{ app }}>
      {t.all}
    </TextLink>
  );
  return (
    <Page title={roleQuery.data?.role.title || name} above={above} description={roleQuery.data?.role.description}>
      <QueryBoundary query={roleQuery} permission={{ resource: 'roles', action: 'get' }}>
        {(data) => <RoleContent key={data.role.name} {...data} />}
      </QueryBoundary>
    </Page>
  );
}

function RoleContent({ role, publicRules }: RoleData): ReactNode {
  const t = useAccessTexts();
  const may = useMay();
  return (
    <Stack gap="xl">
      <Section title={t.matrix.title} text={role.name === 'admin' ? undefined : t.matrix.precedence}>
        {role.name === publicRole && (
          <Alert color="yellow" variant="light" mb="sm" icon={<Icon name="warning" />}>
            {t.matrix.publicNote}
          </Alert>
        )}
        {role.name === 'admin' ? (
          <Text>{t.matrix.adminMayAll}</Text>
        ) : (
          <PermissionMatrix role={role} publicRules={publicRules} />
        )}
      </Section>
      {may('permissions', 'explain') && <Explain role={role.name} />}
      <Details role={role} />
      {!role.builtIn && <Destroy role={role} />}
    </Stack>
  );
}

function Details({ role }: { role: RoleWithPermissions }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { title, description, allowConfigure, default: isDefault } = role;
  const [values, setValues] = useState({
    title: title ?? '',
    description: description ?? '',
    allowConfigure,
    default: isDefault,
  });
  const save = useApiMutation({
    write: (client) =>
      client.records('roles').update(role.name, {
        title: emptyToNull(values.title),
        description: emptyToNull(values.description),
        default: values.default,
        ...(!role.builtIn && { allowConfigure: values.allowConfigure }),
      }),
    changes: ['roles', 'check'],
    done: () => toast(access.saved),
  });
  const problems = getErrorDetails(save.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Section title={access.roles.details} needs={{ resource: 'roles', action: 'update' }}>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <Group gap="xs">
            <Text size="sm">
              {access.roles.name}: <span className="code">{role.name}</span>
            </Text>
            {role.builtIn && <NameBadges names={[access.roles.builtIn]} />}
          </Group>
          <TitleFields
            label={access.roles.roleTitle}
            title={values.title}
            description={values.description}
            problem={problems['title']}
            changeTitle={(title) => setValues({ ...values, title })}
            changeDescription={(description) => setValues({ ...values, description })}
          />
          <Switch
            label={access.roles.configure}
            description={access.roles.configureHint}
            checked={values.allowConfigure}
            onChange={(event) => setValues({ ...values, allowConfigure: event.currentTarget.checked })}
            disabled={role.builtIn}
          />
          <Switch
            label={access.roles.byDefault}
            description={access.roles.byDefaultHint}
            checked={values.default}
            onChange={(event) => setValues({ ...values, default: event.currentTarget.checked })}
            error={problems['default']}
          />
          <FormProblem error={save.error} />
          <Group>
            <Button type="submit" variant="default" loading={save.isPending}>
              {t.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Destroy({ role }: { role: RoleWithPermissions }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const app = useApplication();
  const navigate = useNavigate();
  const destroy = useApiMutation({
    write: (client) => client.records('roles').destroy(role.name),
    changes: ['roles'],
    done: async () => {
      toast(access.roles.destroyed(getTitle(role)));
      await navigate({ to: '/a/$app/access/roles', params: { app } });
    },
  });
  const confirmDestroy = async (): Promise<void> => {
    const { destroyTitle, destroyText } = access.roles;
    const question = {
      title: destroyTitle(getTitle(role)),
      text: destroyText,
      confirmLabel: t.common.destroy,
      danger: true,
    };
    if (await confirm(question)) destroy.mutate();
  };
  const isInUse = destroy.error instanceof Failure && destroy.error.status === 409;
  return (
    <DestroySection
      resource="roles"
      text={access.roles.dangerText}
      destroyLabel={t.common.destroy}
      destroy={() => void confirmDestroy()}
    >
      {isInUse ? (
        <Alert color="yellow" variant="light" role="alert" icon={<Icon name="warning" />} title={access.roles.held}>
          <Text size="sm">{destroy.error?.message}</Text>
          <Group mt="xs">
            <TextLink to="/a/$app/access/users" params={{ app }} search={{ role: role.name }}>
              {access.roles.holders}
            </TextLink>
            <TextLink to="/a/$app/access/keys" params={{ app }}>
              {access.roles.holdersKeys}
            </TextLink>
          </Group>
        </Alert>
      ) : (
        <FormProblem error={destroy.error} />
      )}
    </DestroySection>
  );
}
