import { UnstyledButton } from '@mantine/core';
import { type ReactNode, useId, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import type { AuthenticationResult, MailAuthentication } from '../mail-types.ts';
import classes from './authenticity.module.css';

const icons: Readonly<Record<string, IconName>> = { verified: 'shield', forwarded: 'forward', failed: 'warning' };

/** Whether a checked message was really sent by its sender, in one sentence; the single results unfold. */
export function Authenticity({ authentication }: { authentication: MailAuthentication }): ReactNode {
  const t = useInboxTexts().authenticity;
  const [isUnfolded, setUnfolded] = useState(false);
  const listId = useId();
  const { verdict, results } = authentication;
  const sentences: Readonly<Record<string, (domain: string, other: string) => string>> = t.verdicts;
  const sentence = verdict === null ? undefined : sentences[verdict];
  if (verdict === null || !sentence) return null;
  const shown = results.filter(({ source }) => source !== 'message');
  return (
    <div className={classes.authenticity} data-verdict={verdict}>
      <p className={classes.sentence}>
        <Icon name={icons[verdict] ?? 'info'} size={14} />
        <span>
          {sentence(authentication.domain ?? t.sender, findOtherDomain(authentication) ?? t.otherServer)}{' '}
          {shown.length > 0 && (
            <UnstyledButton
              className={classes.fold}
              aria-expanded={isUnfolded}
              aria-controls={listId}
              onClick={() => setUnfolded(!isUnfolded)}
            >
              {t.details}
            </UnstyledButton>
          )}
        </span>
      </p>
      {isUnfolded && (
        <ul className={classes.results} id={listId}>
          {shown.map((each) => (
            <Result key={`${each.source} ${each.method} ${each.domain} ${each.result} ${each.reason}`} result={each} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Result({ result: { method, result, domain, reason, source } }: { result: AuthenticationResult }): ReactNode {
  const t = useInboxTexts().authenticity;
  const methods: Readonly<Record<string, string>> = t.methods;
  const outcomes: Readonly<Record<string, string>> = t.outcomes;
  return (
    <li>
      <strong>{methods[method] ?? method}</strong> {outcomes[result] ?? result}
      {domain !== null && ` · ${domain}`}
      {source === 'receiver' && ` · ${t.byReceiver}`}
      {reason !== null && <span className={classes.reason}>{reason}</span>}
    </li>
  );
}

/** The domain that signed or forwarded the message instead of the sender's. */
function findOtherDomain({ verdict, results }: MailAuthentication): string | undefined {
  const methods = verdict === 'forwarded' ? ['arc'] : ['dkim', 'spf'];
  return methods
    .flatMap((method) => results.filter((each) => each.method === method && each.result === 'pass'))
    .find(({ domain, source }) => domain !== null && source !== 'message')?.domain as string | undefined;
}
