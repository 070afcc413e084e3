import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { ButtonLink } from '../ui/links.tsx';
import { Empty } from '../ui/states.tsx';

/** The page of an unknown URL. */
export function NotFound(): ReactNode {
  const t = useTexts().shell.notFound;
  return (
    <Empty icon="search" title={t.title} text={t.text}>
      <ButtonLink to="/">{t.home}</ButtonLink>
    </Empty>
  );
}
