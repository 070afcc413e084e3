import { type ReactNode, useEffect, useRef } from 'react';
import { useScope } from '../../data/queries.ts';
import { session } from '../../data/session.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Page } from '../../ui/page.tsx';
import classes from './docs-page.module.css';

/**
 * The API reference of the server in an iframe, for the current user. The page has its own Content-Security-Policy,
 * because it sets styles that the policy of this page forbids. It receives the token in a message and keeps it in
 * memory.
 */
export function DocsPage(): ReactNode {
  const t = useTexts().data.docs;
  const [application, role] = useScope();
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const handleMessage = ({ origin, source, data }: MessageEvent): void => {
      const isFromFrame = origin === location.origin && source === frame.current?.contentWindow;
      if (!isFromFrame || (data as { type?: unknown }).type !== 'docs-ready') return;
      const identity = { type: 'docs-who', application, role, token: session.token(application) ?? '' };
      frame.current?.contentWindow?.postMessage(identity, location.origin);
    };
    addEventListener('message', handleMessage);
    return () => removeEventListener('message', handleMessage);
  }, [application, role]);
  return (
    <Page
      filled
      title={t.title}
      description={t.description}
      actions={
        <a className={classes.own} href="/docs" target="_blank" rel="noreferrer">
          {t.own} <Icon name="external" size={14} />
        </a>
      }
    >
      <iframe key={`${application} ${role}`} ref={frame} src="/docs" title={t.frame} className={classes.frame} />
    </Page>
  );
}
