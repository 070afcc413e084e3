import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Section } from '../../data/section.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { TextLink } from '../../ui/links.tsx';

/** The section of an account's page that leads to its templates. */
export function TemplatesLink({ account }: { readonly account: number }): ReactNode {
  const t = useComposeTexts().templates;
  const app = useApplication();
  return (
    <Section title={t.title} text={t.manageText}>
      <TextLink to="/a/$app/inbox/accounts/$account/templates" params={{ app, account: String(account) }}>
        {t.manage}
      </TextLink>
    </Section>
  );
}
