import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Email } from '../mail-types.ts';
import classes from './mail-warnings.module.css';

/** Warnings that only inform: most of these messages are honest. */
const notices: ReadonlySet<string> = new Set(['firstTimeSender']);
/** Warnings that the sentence about the authenticity of a checked message already includes. */
const authenticationWarnings: ReadonlySet<string> = new Set(['spfFailed', 'dkimFailed', 'dmarcFailed']);

/** What a reader should know of a message before trusting it. */
export function MailWarnings({ email }: { email: Email }): ReactNode {
  const t = useInboxTexts();
  const known: Readonly<Record<string, string>> = t.warnings;
  const bodies: Readonly<Record<string, string>> = t.bodyStates;
  const isChecked = email.authentication?.verdict != null;
  const names = (email.warnings ?? []).filter((name) => !(isChecked && authenticationWarnings.has(name)));
  const toTexts = (list: readonly string[]): string[] => list.flatMap((name) => known[name] ?? []);
  const warnings = [
    ...toTexts(names.filter((name) => !notices.has(name))),
    ...[bodies[email.bodyState ?? '']].filter((text) => text !== undefined),
  ];
  return (
    <>
      <WarningList texts={warnings} isNotice={false} />
      <WarningList texts={toTexts(names.filter((name) => notices.has(name)))} isNotice />
    </>
  );
}

function WarningList({ texts, isNotice }: { texts: readonly string[]; isNotice: boolean }): ReactNode {
  if (texts.length === 0) return null;
  return (
    <ul className={classes.warnings} data-notice={isNotice || undefined}>
      {texts.map((text) => (
        <li key={text}>
          <Icon name={isNotice ? 'info' : 'warning'} size={14} />
          <span>{text}</span>
        </li>
      ))}
    </ul>
  );
}
