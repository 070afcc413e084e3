import type { Field } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import type { FieldDraft } from './field-draft.ts';
import { resolveSides } from './relation-model.ts';
import classes from './relation-picture.module.css';

interface RelationPictureProps {
  readonly draft: FieldDraft;
  readonly collectionName: string;
  readonly target: string;
  /** The existing field whose link is used. */
  readonly link: Field | undefined;
}

/** Explains in a sentence and a small picture which records point to which. */
export function RelationPicture({ draft, collectionName, target, link }: RelationPictureProps): ReactNode {
  const t = useTexts().data.relation;
  const formatSentence = t.sentence[draft.type as keyof typeof t.sentence];
  if (!formatSentence) return null;
  const { child, parent } = resolveSides(draft.type, collectionName, target);
  const key = String(draft.options.foreignKey || link?.foreignKey || '');
  return (
    <figure className={classes.picture}>
      <div className={classes.boxes} aria-hidden="true">
        {draft.type === 'belongsToMany' ? (
          <>
            <Box name={collectionName} />
            <span>⟷</span>
            <Box name={String(draft.options.through || t.joinCollection)} dashed />
            <span>⟷</span>
            <Box name={target} />
          </>
        ) : (
          <>
            <Box name={child} detail={key || t.newKey} dashed={key === ''} />
            <span>⟶</span>
            <Box name={parent} />
          </>
        )}
      </div>
      <figcaption>
        {formatSentence(collectionName, target)} {draft.type === 'belongsToMany' && t.manyDeleted}
      </figcaption>
    </figure>
  );
}

function Box({ name, detail, dashed = false }: { name: string; detail?: string; dashed?: boolean }): ReactNode {
  return (
    <span className={classes.box} data-new={dashed || undefined}>
      <b>{name}</b>
      {detail && <span>{detail}</span>}
    </span>
  );
}
