import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Section } from '../../data/section.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { TextLink } from '../../ui/links.tsx';

/** The section of an account's page that leads to its rules. */
export function RulesLink({ account }: { readonly account: number }): ReactNode {
  const t = useInboxTexts().rules;
  const app = useApplication();
  return (
    <Section title={t.title} text={t.manageText}>
      <TextLink to="/a/$app/inbox/accounts/$account/rules" params={{ app, account: String(account) }}>
        {t.manage}
      </TextLink>
    </Section>
  );
}
