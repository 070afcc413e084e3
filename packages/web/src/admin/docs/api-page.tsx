/** The documentation of the API, as the role sees it. The page inside is the server's own; it gets the login by a message. */
import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useCheck } from '../../data/queries.ts';
import { session, useChosenRole } from '../../data/session.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Page } from '../../ui/page.tsx';
import classes from './api-page.module.css';

export function ApiPage(): ReactNode {
  const t = useTexts().access.docs;
  const application = useApplication();
  const role = useChosenRole(application);
  const { data: check } = useCheck();
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const answer = ({ source, origin, data }: MessageEvent<{ type?: unknown } | null>): void => {
      const inside = frame.current?.contentWindow;
      if (!inside || source !== inside || origin !== location.origin || data?.type !== 'docs:ready') return;
      inside.postMessage({ type: 'docs:who', application, token: session.token(application), role }, location.origin);
    };
    addEventListener('message', answer);
    return () => removeEventListener('message', answer);
  }, [application, role]);
  const alone = (
    <Button
      component="a"
      href="/docs"
      target="_blank"
      rel="noreferrer"
      variant="default"
      rightSection={<Icon name="external" />}
    >
      {t.alone}
    </Button>
  );
  return (
    <Page title={t.title} filled actions={alone} description={check && t.signedIn(check.currentRole)}>
      <iframe key={`${application} ${role}`} ref={frame} className={classes.frame} src="/docs" title={t.frame} />
    </Page>
  );
}
