import { Progress, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useMay } from '../../data/schema.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { useRunningImports } from './import-queries.ts';
import { getProgress } from './import-state.tsx';
import classes from './running-imports.module.css';

/** A line for each running import, with a link to it. @param collection null shows the imports into any collection. */
export function RunningImports(props: { readonly collection: string | null }): ReactNode {
  return useMay()('imports', 'list') ? <RunningLines {...props} /> : null;
}

function RunningLines({ collection }: { readonly collection: string | null }): ReactNode {
  const t = useImportTexts().run;
  const app = useApplication();
  return useRunningImports(collection).map((record) => (
    <div key={record.id} className={classes.line}>
      <Text size="sm" className="tabular">
        {record.rows === null
          ? t.line(record.filename ?? t.title(String(record.id)), record.processed)
          : t.lineOf(record.filename ?? t.title(String(record.id)), record.processed, record.rows)}
      </Text>
      <Progress.Root className={classes.progress ?? ''}>
        <Progress.Section value={getProgress(record) ?? 0} aria-label={t.progress} />
      </Progress.Root>
      <TextLink to="/a/$app/imports/$import" params={{ app, import: String(record.id) }} size="sm">
        {t.show}
      </TextLink>
    </div>
  ));
}
