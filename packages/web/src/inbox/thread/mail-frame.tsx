/**
 * A mail's HTML in a frame of its own: no scripts, no forms, and a policy that loads nothing but what is in the page
 * already. The page fills it and measures it from outside.
 */
import { Button, useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import type { Attachment } from '../mail.ts';
import classes from './mail-frame.module.css';
import { MailImages } from './mail-images.ts';
import { applyLooks, type CleanMail, cleanMail } from './purify.ts';

interface MailFrameProps {
  readonly email: number;
  readonly html: string;
  readonly attachments: readonly Attachment[];
}

/** Images of other servers: how often they were asked for, and how many could not be had; null while they are on their way. */
interface Remote {
  readonly asked: number;
  readonly failed: number | null;
}

export function MailFrame({ email, html, attachments }: MailFrameProps): ReactNode {
  const t = useInboxTexts();
  const frame = useRef<HTMLIFrameElement>(null);
  const application = useApplication();
  const dark = useComputedColorScheme('light') === 'dark';
  const clean = useMemo(() => cleanMail(html), [html]);
  const [{ asked, failed }, setRemote] = useState<Remote>({ asked: 0, failed: null });
  useEffect(() => {
    const element = frame.current;
    if (!element?.contentDocument) return;
    const stopMeasuring = fill(element, clean, dark && !clean.coloured);
    const images = new MailImages(element.contentDocument, clientOf(application));
    void images.showParts(attachments);
    if (asked > 0) void images.showRemote(email).then((left) => setRemote({ asked, failed: left }));
    return () => {
      stopMeasuring();
      images.end();
    };
  }, [clean, dark, attachments, application, asked, email]);
  return (
    <>
      {clean.hasRemoteImages && (
        <RemoteImages asked={asked > 0} failed={failed} ask={() => setRemote({ asked: asked + 1, failed: null })} />
      )}
      <iframe
        ref={frame}
        className={classes.frame}
        title={t.messageText}
        sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
        referrerPolicy="no-referrer"
        data-paper={(dark && clean.coloured) || undefined}
      />
    </>
  );
}

interface RemoteImagesProps {
  readonly asked: boolean;
  readonly failed: number | null;
  readonly ask: () => void;
}

/** They wait until the reader asks: whoever sent them learns then that somebody looks. Nothing remembers the answer. */
function RemoteImages({ asked, failed, ask }: RemoteImagesProps): ReactNode {
  const texts = useTexts();
  const t = useInboxTexts().images;
  if (failed === 0) return null;
  return (
    <div className={classes.note} role="status">
      <span>{!asked ? t.hidden : failed === null ? t.loading : t.failed(failed)}</span>
      {(!asked || failed !== null) && (
        <Button size="compact-xs" variant="default" onClick={ask}>
          {asked ? texts.common.retry : t.show}
        </Button>
      )}
    </div>
  );
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src blob: data:";

/** @returns what ends it. */
function fill(frame: HTMLIFrameElement, { content, style }: CleanMail, inDark: boolean): () => void {
  const inside = frame.contentDocument!;
  const wall = inside.createElement('meta');
  wall.httpEquiv = 'Content-Security-Policy';
  wall.content = policy;
  inside.head.replaceChildren(wall);
  const body = inside.createElement('div');
  body.className = 'mail';
  body.append(inside.importNode(content, true));
  inside.body.replaceChildren(body);
  applyLooks(body);
  inside.adoptedStyleSheets = [sheetIn(frame, ownStyle(inDark)), sheetIn(frame, style)];
  // What is typed inside is meant for the page.
  inside.onkeydown = (event) => {
    const { key, code, shiftKey, ctrlKey, metaKey, altKey } = event;
    frame.dispatchEvent(new KeyboardEvent('keydown', { key, code, shiftKey, ctrlKey, metaKey, altKey, bubbles: true }));
  };
  const measure = (): void => {
    frame.style.height = `${Math.ceil(body.getBoundingClientRect().height) + 2}px`;
  };
  measure();
  const observer = new ResizeObserver(measure);
  observer.observe(body);
  return () => observer.disconnect();
}

/** A sheet may only be adopted by the document in whose world it was made. */
function sheetIn(frame: HTMLIFrameElement, rules: string): CSSStyleSheet {
  const world = frame.contentWindow as Window & typeof globalThis;
  const sheet = new world.CSSStyleSheet();
  sheet.replaceSync(rules);
  return sheet;
}

function ownStyle(inDark: boolean): string {
  return `
    :root { color-scheme: ${inDark ? 'dark' : 'light'}; }
    html, body { margin: 0; padding: 0; background: transparent; overflow-y: hidden; }
    .mail {
      font: 14px/1.55 Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
      color: ${inDark ? '#dde4e2' : '#1b2422'}; overflow-wrap: anywhere; display: flow-root; overflow-x: auto;
    }
    a { color: ${inDark ? '#82d1c7' : '#0d6b63'}; }
    img { max-width: 100%; height: auto; }
    img:not([src]) { display: none; }
    table { max-width: 100%; }
    pre { white-space: pre-wrap; }
    blockquote { margin: 8px 0 0; padding-left: 12px; border-left: 2px solid ${inDark ? '#46534f' : '#d5dcda'}; }
    summary { cursor: pointer; width: max-content; list-style: none; padding: 0 8px; border-radius: 8px; line-height: 16px;
      background: ${inDark ? '#28322f' : '#e5eae8'}; margin: 8px 0; font-size: 10px; }
  `;
}
