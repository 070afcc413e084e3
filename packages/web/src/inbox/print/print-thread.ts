/**
 * Prints a conversation from a document of its own: a sandboxed frame without scripts, whose policy blocks all requests. Each HTML mail
 * is in a shadow tree, so that its styles reach neither other mails nor their heads.
 */
import type { Client } from '@tablinum/client';
import type { InboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { formatSize } from '../../ui/size-text.ts';
import type { Email, MailAddress, Thread } from '../mail-types.ts';
import { applyMailPolicy, createSheet } from '../thread/frame-sheets.ts';
import { MailImages } from '../thread/mail-images.ts';
import { applyStyles, cleanMail } from '../thread/purify.ts';
import { formatFullTime } from '../times.ts';

/** Pictures that are not loaded by then are missing. */
const maxImageMilliseconds = 5000;
const maxLoadMilliseconds = 1000;
const frameAttribute = 'data-print';

interface PrintOptions {
  readonly client: Client;
  readonly texts: InboxTexts;
}

/** Opens the print dialog of the browser. Drafts are left out, and quotations are complete. */
export async function printThread(thread: Thread, { client, texts }: PrintOptions): Promise<void> {
  // The frame of the last print stays until then, because browsers print after the call returns.
  for (const old of document.querySelectorAll(`iframe[${frameAttribute}]`)) old.remove();
  const frame = document.createElement('iframe');
  frame.setAttribute(frameAttribute, '');
  frame.setAttribute('sandbox', 'allow-same-origin allow-modals');
  frame.setAttribute('aria-hidden', 'true');
  frame.tabIndex = -1;
  frame.title = texts.commands.print;
  frame.style.cssText = 'position:fixed;width:0;height:0;border:0;visibility:hidden';
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
  document.body.append(frame);
  // Some versions of Firefox replace the empty document of a new frame when it is loaded.
  await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, maxLoadMilliseconds))]);
  const page = frame.contentDocument!;
  applyMailPolicy(page);
  page.title = thread.subject || texts.noSubject;
  page.adoptedStyleSheets = [createSheet(frame, pageStyle)];
  const title = page.createElement('h1');
  title.dir = 'auto';
  title.textContent = thread.subject || texts.noSubject;
  page.body.append(title);
  const images: Promise<unknown>[] = [];
  for (const email of thread.emails.filter(({ draft }) => !draft)) {
    page.body.append(buildHead(page, email, texts));
    const root = email.html ? buildHtml(frame, email.html) : null;
    page.body.append(root ? root.host : buildText(page, email.text ?? ''));
    if (root) images.push(new MailImages(root, client).showParts(email.attachments ?? []));
    const files = (email.attachments ?? []).filter(({ disposition }) => disposition === 'attachment');
    if (files.length > 0)
      page.body.append(
        buildLine(
          page,
          files
            .map(({ filename, size }) => `${filename ?? texts.attachment.unnamed} (${formatSize(size ?? 0)})`)
            .join(', '),
        ),
      );
  }
  await Promise.race([Promise.allSettled(images), new Promise((resolve) => setTimeout(resolve, maxImageMilliseconds))]);
  if (frame.isConnected) frame.contentWindow?.print();
}

function buildHead(page: Document, email: Email, texts: InboxTexts): HTMLElement {
  const head = page.createElement('header');
  const from = page.createElement('strong');
  from.dir = 'auto';
  from.textContent = formatPeople(email.from) || texts.nobody;
  const time = page.createElement('time');
  time.textContent = formatFullTime(email.receivedAt);
  head.append(from, time, buildLine(page, texts.to(formatPeople([...(email.to ?? []), ...(email.cc ?? [])]))));
  return head;
}

function buildLine(page: Document, text: string): HTMLElement {
  const line = page.createElement('p');
  line.className = 'line';
  line.dir = 'auto';
  line.textContent = text;
  return line;
}

function formatPeople(people: readonly MailAddress[] | null): string {
  return (people ?? []).map(({ name, address }) => (name ? `${name} <${address}>` : address)).join(', ');
}

function buildText(page: Document, text: string): HTMLElement {
  const body = page.createElement('pre');
  body.dir = 'auto';
  body.textContent = text;
  return body;
}

function buildHtml(frame: HTMLIFrameElement, html: string): ShadowRoot {
  const page = frame.contentDocument!;
  const { content, style } = cleanMail(html, false);
  const host = page.createElement('div');
  host.className = 'mail';
  const root = host.attachShadow({ mode: 'open' });
  const body = page.createElement('div');
  body.dir = 'auto';
  body.append(page.importNode(content, true));
  root.append(body);
  applyStyles(body);
  root.adoptedStyleSheets = [createSheet(frame, mailStyle), createSheet(frame, style)];
  return root;
}

const pageStyle = `
  @page { margin: 18mm 16mm; }
  :root { color-scheme: light; }
  body { margin: 0; font: 11pt/1.5 Inter, ui-sans-serif, system-ui, sans-serif; color: #000; background: #fff; }
  h1 { margin: 0 0 10pt; font-size: 15pt; }
  header { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12pt; break-after: avoid;
    margin: 12pt 0 8pt; padding-top: 8pt; border-top: 1px solid #999; }
  .line { flex-basis: 100%; margin: 0; color: #444; font-size: 9pt; overflow-wrap: anywhere; }
  pre { margin: 0; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
  /* Nothing of a mail is drawn outside of its box. */
  .mail { position: relative; overflow: clip; transform: translate(0); overflow-wrap: anywhere; }
`;
const mailStyle = `
  img { max-width: 100%; height: auto; }
  img:not([src]) { display: none; }
  table { max-width: 100%; }
  pre { white-space: pre-wrap; }
  blockquote { margin: 6pt 0 0; padding-inline-start: 8pt; border-inline-start: 2px solid #bbb; }
`;
