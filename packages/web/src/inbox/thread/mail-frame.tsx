/**
 * The HTML of a mail in a sandboxed iframe without scripts and forms, and with a policy that blocks all network
 * requests. The page fills the frame and measures its height from outside.
 */
import { Button, useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import type { Attachment } from '../mail-types.ts';
import { applyMailPolicy, createSheet } from './frame-sheets.ts';
import classes from './mail-frame.module.css';
import { MailImages } from './mail-images.ts';
import { applyStyles, type CleanMail, cleanMail } from './purify.ts';

interface MailFrameProps {
  readonly email: number;
  readonly html: string;
  readonly attachments: readonly Attachment[];
  /** Whether a quotation at the end is folded; true by default. */
  readonly foldsQuotes?: boolean;
}

/** The state of remote images: how often they were requested, and how many failed; null while they are loading. */
interface Remote {
  readonly attempts: number;
  readonly failed: number | null;
}

export function MailFrame({ email, html, attachments, foldsQuotes = true }: MailFrameProps): ReactNode {
  const t = useInboxTexts();
  const frame = useRef<HTMLIFrameElement>(null);
  const application = useApplication();
  const isDark = useComputedColorScheme('light') === 'dark';
  const clean = useMemo(() => cleanMail(html, foldsQuotes), [html, foldsQuotes]);
  const [{ attempts, failed }, setRemote] = useState<Remote>({ attempts: 0, failed: null });
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    let filled: Document | null = null;
    let end = (): void => {};
    const fill = (): void => {
      if (!element.contentDocument || element.contentDocument === filled) return;
      end();
      filled = element.contentDocument;
      const stopMeasuring = fillFrame(element, clean, isDark && !clean.hasOwnColors);
      const images = new MailImages(filled, getClient(application));
      void images.showParts(attachments);
      if (attempts > 0) void images.showRemote(email).then((left) => setRemote({ attempts, failed: left }));
      end = () => {
        stopMeasuring();
        images.end();
      };
    };
    fill();
    // Some versions of Firefox replace the empty document of a new frame a moment later.
    element.addEventListener('load', fill);
    return () => {
      element.removeEventListener('load', fill);
      end();
    };
  }, [clean, isDark, attachments, application, attempts, email]);
  return (
    <>
      {clean.hasRemoteImages && (
        <RemoteImages
          isRequested={attempts > 0}
          failed={failed}
          load={() => setRemote({ attempts: attempts + 1, failed: null })}
        />
      )}
      <iframe
        ref={frame}
        className={classes.frame}
        title={t.messageText}
        sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
        referrerPolicy="no-referrer"
        data-paper={(isDark && clean.hasOwnColors) || undefined}
      />
    </>
  );
}

interface RemoteImagesProps {
  readonly isRequested: boolean;
  readonly failed: number | null;
  readonly load: () => void;
}

/**
 * Remote images are only loaded on request, because they tell the sender that the mail was opened. The choice is not
 * stored.
 */
function RemoteImages({ isRequested, failed, load }: RemoteImagesProps): ReactNode {
  const texts = useTexts();
  const t = useInboxTexts().images;
  if (failed === 0) return null;
  return (
    <div className={classes.note} role="status">
      <span>{!isRequested ? t.hidden : failed === null ? t.loading : t.failed(failed)}</span>
      {(!isRequested || failed !== null) && (
        <Button size="compact-xs" variant="default" onClick={load}>
          {isRequested ? texts.common.retry : t.show}
        </Button>
      )}
    </div>
  );
}

/** @returns a function that ends it. */
function fillFrame(frame: HTMLIFrameElement, { content, style }: CleanMail, isDark: boolean): () => void {
  const frameDocument = frame.contentDocument!;
  applyMailPolicy(frameDocument);
  const body = frameDocument.createElement('div');
  body.className = 'mail';
  body.dir = 'auto';
  body.append(frameDocument.importNode(content, true));
  frameDocument.body.replaceChildren(body);
  applyStyles(body);
  frameDocument.adoptedStyleSheets = [createSheet(frame, buildBaseStyle(isDark)), createSheet(frame, style)];
  // Key events inside of the frame are forwarded to the page.
  frameDocument.onkeydown = (event) => {
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

function buildBaseStyle(isDark: boolean): string {
  return `
    :root { color-scheme: ${isDark ? 'dark' : 'light'}; }
    html, body { margin: 0; padding: 0; background: transparent; overflow-y: hidden; }
    .mail {
      font: 14px/1.55 Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
      color: ${isDark ? '#dde4e2' : '#1b2422'}; overflow-wrap: anywhere; display: flow-root; overflow-x: auto;
    }
    a { color: ${isDark ? '#82d1c7' : '#0d6b63'}; }
    img { max-width: 100%; height: auto; }
    .mail :is(p, div, li, td, th, blockquote, h1, h2, h3, h4, h5, h6):not([dir]) { unicode-bidi: plaintext; }
    img:not([src]) { display: none; }
    table { max-width: 100%; }
    pre { white-space: pre-wrap; }
    blockquote { margin: 8px 0 0; padding-inline-start: 12px; border-inline-start: 2px solid ${isDark ? '#46534f' : '#d5dcda'}; }
    summary { cursor: pointer; width: max-content; list-style: none; padding: 0 8px; border-radius: 8px; line-height: 16px;
      background: ${isDark ? '#28322f' : '#e5eae8'}; margin: 8px 0; font-size: 10px; }
  `;
}
