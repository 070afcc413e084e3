/** The wizard that creates a collection from a file and imports the file into it. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import { getErrorMessage } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { getErrorDetails, useActionMutation } from '../../data/use-api-mutation.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import { toast } from '../../ui/toasts.tsx';
import { Report } from './check-step.tsx';
import { createDefinitionDraft, type DefinitionDraft, toDefinition, toMapping } from './definition-draft.ts';
import { DefinitionStep } from './definition-step.tsx';
import type { NewCollectionPreview, SourceOptions } from './dto.ts';
import { FileStep } from './file-step.tsx';
import { PreviewState } from './import-page.tsx';
import { checkNewCollection, startImport, useImportPreview } from './import-queries.ts';
import type { ImportSearch } from './import-search.ts';
import { StepHeading, Steps } from './steps.tsx';

export function NewCollectionImportPage(): ReactNode {
  const t = useImportTexts().newCollection;
  const title = useTexts().data.collections.title;
  const app = useApplication();
  const above = (
    <TextLink to="/a/$app/data" params={{ app }}>
      {title}
    </TextLink>
  );
  return (
    <Page title={t.title} above={above}>
      <Allowed resource="collections" action="create">
        <Wizard />
      </Allowed>
    </Page>
  );
}

function Wizard(): ReactNode {
  const t = useImportTexts().steps;
  const navigate = useNavigate();
  const { file = null } = useSearch({ strict: false }) as ImportSearch;
  const [source, setSource] = useState<SourceOptions>({});
  const preview = useImportPreview<NewCollectionPreview>('collections', file, source);
  const [isChecked, setChecked] = useState(false);
  const chooseFile = (id: number | undefined): void => {
    setSource({});
    setChecked(false);
    void navigate({ to: '.', search: (id === undefined ? {} : { file: id }) as never });
  };
  const step = file === null ? 0 : isChecked ? 2 : 1;
  return (
    <Stack gap="lg">
      <Steps label={t.label} names={[t.file, t.fields, t.check, t.run]} current={step} />
      {file === null && <FileStep done={({ id }) => chooseFile(id)} />}
      {file !== null && preview.data === undefined && (
        <PreviewState
          query={preview}
          resource="collections"
          back={() => chooseFile(undefined)}
          reset={Object.keys(source).length > 0 ? () => setSource({}) : null}
        />
      )}
      {file !== null && preview.data && (
        <Definition
          file={file}
          preview={preview.data}
          source={source}
          changeSource={setSource}
          isChecked={isChecked}
          setChecked={setChecked}
          back={() => chooseFile(undefined)}
        />
      )}
    </Stack>
  );
}

interface DefinitionProps {
  readonly file: number;
  readonly preview: NewCollectionPreview;
  readonly source: SourceOptions;
  readonly changeSource: (source: SourceOptions) => void;
  /** Whether the report of the check is shown. */
  readonly isChecked: boolean;
  readonly setChecked: (isChecked: boolean) => void;
  readonly back: () => void;
}

function Definition(props: DefinitionProps): ReactNode {
  const { file, preview, source, changeSource, isChecked, setChecked, back } = props;
  const t = useImportTexts();
  const app = useApplication();
  const navigate = useNavigate();
  const client = getClient(app);
  const [edited, setEdited] = useState<{ preview: NewCollectionPreview; draft: DefinitionDraft } | null>(null);
  // Other options of the file give other columns, for which the definition is derived again.
  const draft = edited?.preview === preview ? edited.draft : createDefinitionDraft(preview);
  const [created, setCreated] = useState<string | null>(null);
  const [idempotencyKey] = useState(createIdempotencyKey);
  const start = useMutation({
    mutationFn: (name: string) =>
      startImport(client, name, { file, ...source, mapping: toMapping(draft), skipInvalid: true }, idempotencyKey),
    onSuccess: async ({ id }) => {
      await invalidate(app, 'imports');
      await navigate({ to: '/a/$app/imports/$import', params: { app, import: String(id) }, replace: true });
    },
  });
  const check = useMutation({
    mutationFn: () => checkNewCollection(client, { file, ...source, mapping: toMapping(draft) }, toDefinition(draft)),
    onSuccess: () => setChecked(true),
  });
  const create = useMutation({
    mutationFn: () => client.collections.create(toDefinition(draft)),
    onSuccess: async () => {
      setCreated(draft.name);
      await invalidate(app, 'schema');
      start.mutate(draft.name);
    },
  });
  if (created !== null && start.error)
    return (
      <ImportFailed
        collection={created}
        title={draft.title || created}
        file={file}
        error={start.error}
        isPending={start.isPending}
        again={() => start.mutate(created)}
      />
    );
  if (isChecked && check.data) {
    const { rows, created: valid, refused } = check.data;
    const tn = t.newCollection;
    const label = refused > 0 ? tn.createWithout(valid, refused) : tn.create(valid);
    return (
      <Stack>
        <StepHeading>{t.check.title}</StepHeading>
        <Report
          report={check.data}
          preview={preview}
          mapping={toMapping(draft)}
          start={{
            mutate: () => create.mutate(),
            isPending: create.isPending || created !== null,
            error: create.error,
          }}
          label={rows === 0 ? tn.createEmpty : label}
          isReady={rows === 0 || valid > 0}
          back={() => {
            create.reset();
            setChecked(false);
          }}
        />
      </Stack>
    );
  }
  return (
    <DefinitionStep
      preview={preview}
      source={source}
      changeSource={changeSource}
      draft={draft}
      change={(next) => setEdited({ preview, draft: next })}
      problems={getErrorDetails(check.error)}
      error={check.error}
      isPending={check.isPending}
      back={back}
      submit={() => check.mutate()}
    />
  );
}

interface ImportFailedProps {
  readonly collection: string;
  readonly title: string;
  readonly file: number;
  readonly error: Error;
  readonly isPending: boolean;
  readonly again: () => void;
}

/** The collection exists, but its import was refused: the user decides what becomes of it. */
function ImportFailed({ collection, title, file, error, isPending, again }: ImportFailedProps): ReactNode {
  const t = useImportTexts().newCollection;
  const app = useApplication();
  const navigate = useNavigate();
  const destroy = useActionMutation({
    write: (client) => client.collections.destroy(collection),
    changes: ['schema'],
    done: () => {
      toast(t.destroyed(title));
      return navigate({ to: '/a/$app/data', params: { app } });
    },
  });
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} title={t.createdTitle(title)}>
      <Stack>
        <Text size="sm">{getErrorMessage(error)}</Text>
        <Text size="sm">{t.createdText}</Text>
        <Group gap="xs">
          <PendingButton pending={isPending} onClick={again}>
            {t.again}
          </PendingButton>
          <ButtonLink
            variant="default"
            to="/a/$app/data/$collection/import"
            params={{ app, collection }}
            search={{ file }}
          >
            {t.changeColumns}
          </ButtonLink>
          <Button variant="default" onClick={() => void destroy()}>
            {t.destroy}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
