import { Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';

interface TitleFieldsProps {
  /** The label of the title. */
  readonly label: string;
  readonly title: string;
  readonly description: string;
  /** The error of the title. */
  readonly problem: string | undefined;
  readonly changeTitle: (title: string) => void;
  readonly changeDescription: (description: string) => void;
}

/** The inputs of a title and a description. */
export function TitleFields(props: TitleFieldsProps): ReactNode {
  const t = useTexts().common;
  return (
    <>
      <TextInput
        label={props.label}
        value={props.title}
        onChange={(event) => props.changeTitle(event.currentTarget.value)}
        error={props.problem}
      />
      <Textarea
        label={t.description}
        value={props.description}
        onChange={(event) => props.changeDescription(event.currentTarget.value)}
        autosize
        minRows={2}
      />
    </>
  );
}
