/** The wizard that imports a file into a collection. The uploaded file is in the URL, so that a reload keeps it. */
import { Button, Group, Stack } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { getTitle } from '../../data/field-names.ts';
import { Problem, QueryBoundary } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { type Schema, useSchema } from '../../data/schema.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Waiting } from '../../ui/states.tsx';
import { CheckStep } from './check-step.tsx';
import type { ImportPreview, ImportRecord } from './dto.ts';
import { FileStep } from './file-step.tsx';
import { buildImportRequest, type ImportDraft, listMapping, listModes, listTargetFields } from './import-draft.ts';
import { useImportPreview } from './import-queries.ts';
import type { ImportSearch } from './import-search.ts';
import { MappingStep } from './mapping-step.tsx';
import { Steps } from './steps.tsx';

export function ImportPage(): ReactNode {
  const { collection: name = '' } = useParams({ strict: false });
  const t = useTexts().common.problem;
  const ti = useImportTexts();
  const schema = useSchema();
  const app = useApplication();
  const collection = schema.data?.byName.get(name);
  const title = collection ? getTitle(collection) : name;
  const above = (
    <TextLink to="/a/$app/data/$collection" params={{ app, collection: name }}>
      {title}
    </TextLink>
  );
  return (
    <Page title={ti.title(title)} above={above}>
      <QueryBoundary query={schema}>
        {(data) =>
          collection ? (
            <Allowed resource={name} action="import">
              <Wizard key={name} collection={collection} schema={data} />
            </Allowed>
          ) : (
            <Empty icon="search" title={t.notFoundTitle} text={name} />
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function Wizard({ collection, schema }: { readonly collection: Collection; readonly schema: Schema }): ReactNode {
  const t = useImportTexts();
  const app = useApplication();
  const navigate = useNavigate();
  const { file = null } = useSearch({ strict: false }) as ImportSearch;
  const [isChecking, setChecking] = useState(false);
  const [draft, setDraft] = useState<ImportDraft>({
    source: {},
    mode: listModes(collection.name, schema)[0] ?? 'create',
    matchFields: [],
    addOptions: false,
    targets: {},
  });
  const preview = useImportPreview<ImportPreview>(collection.name, file, draft.source);
  const chooseFile = (id: number | undefined): void => {
    setChecking(false);
    setDraft({ ...draft, source: {}, targets: {} });
    void navigate({ to: '.', search: (id === undefined ? {} : { file: id }) as never });
  };
  const showRun = async ({ id }: ImportRecord): Promise<void> => {
    await invalidate(app, 'imports');
    await navigate({ to: '/a/$app/imports/$import', params: { app, import: String(id) }, replace: true });
  };
  const step = file === null ? 0 : isChecking ? 2 : 1;
  return (
    <Stack gap="lg">
      <Steps label={t.steps.label} names={[t.steps.file, t.steps.mapping, t.steps.check, t.steps.run]} current={step} />
      {file === null && <FileStep done={({ id }) => chooseFile(id)} />}
      {file !== null && preview.data === undefined && (
        <PreviewState
          query={preview}
          resource={collection.name}
          back={() => chooseFile(undefined)}
          reset={Object.keys(draft.source).length > 0 ? () => setDraft({ ...draft, source: {} }) : null}
        />
      )}
      {file !== null && preview.data && !isChecking && (
        <MappingStep
          collection={collection}
          schema={schema}
          preview={preview.data}
          draft={draft}
          change={(part) => setDraft({ ...draft, ...part })}
          back={() => chooseFile(undefined)}
          next={() => setChecking(true)}
        />
      )}
      {file !== null && preview.data && isChecking && (
        <CheckStep
          collection={collection.name}
          preview={preview.data}
          request={buildImportRequest(
            file,
            draft,
            listMapping(draft, preview.data, listTargetFields(collection, schema, draft.mode)),
            collection,
          )}
          back={() => setChecking(false)}
          done={(started) => void showRun(started)}
        />
      )}
    </Stack>
  );
}

interface PreviewStateProps {
  readonly query: ReturnType<typeof useImportPreview>;
  readonly resource: string;
  readonly back: () => void;
  /** Reads the file as detected; null if nothing else was chosen. */
  readonly reset: (() => void) | null;
}

/** The file is being read, or cannot be read. */
export function PreviewState({ query, resource, back, reset }: PreviewStateProps): ReactNode {
  const t = useImportTexts().mapping;
  if (!query.error) return <Waiting />;
  return (
    <Stack>
      <Problem
        error={query.error}
        retry={() => void query.refetch()}
        permission={{ resource, action: resource === 'collections' ? 'create' : 'import' }}
      />
      <Group justify="center">
        <Button variant="default" onClick={back}>
          {t.otherFile}
        </Button>
        {reset && (
          <Button variant="default" onClick={reset}>
            {t.asDetected}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
