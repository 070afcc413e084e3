/**
 * Sanitises the HTML of a mail. The server has already sanitised it (docs/mail-safety.md); it is sanitised again here by
 * another program, so that a fault of one of them is not enough for an attack.
 *
 * The nodes that DOMPurify creates are shown directly; no text is parsed again afterwards.
 */
import DOMPurify from 'dompurify';

export interface CleanMail {
  readonly content: DocumentFragment;
  /** The style rules of the mail, which the server has restricted to `.m-scope`. */
  readonly style: string;
  /** The mail sets its own colours. It is shown on a light background, so that it stays readable in dark mode. */
  readonly hasOwnColors: boolean;
  readonly hasRemoteImages: boolean;
}

const sanitizeOptions = {
  RETURN_DOM_FRAGMENT: true as const,
  FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'svg', 'math', 'video', 'audio', 'picture'],
  FORBID_ATTR: ['style', 'srcset', 'background', 'poster', 'ping', 'action', 'formaction'],
  ADD_ATTR: ['target'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|data:image\/(?:png|jpeg|gif|webp)[;,])/i,
};

/** `style` attributes are renamed to `data-look`, because the policy of the page forbids to set `style` by markup. */
const styleAttribute = 'data-look';
const styleSheetPattern = /<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi;
const tagPattern = /<[a-z][^<>]*>/gi;

/** @param foldsQuotes whether a quotation at the end is folded. */
export function cleanMail(html: string, foldsQuotes = true): CleanMail {
  const style = [...html.matchAll(styleSheetPattern)].map(([, rules = '']) => rules).join('\n');
  const content = DOMPurify.sanitize(renameStyles(html), sanitizeOptions);
  for (const link of content.querySelectorAll('a[href]')) {
    link.setAttribute('target', '_blank');
    link.setAttribute('rel', 'noopener noreferrer');
  }
  if (foldsQuotes) foldQuotes(content);
  return {
    content,
    style,
    hasOwnColors: hasOwnColors(content, style),
    hasRemoteImages: !!content.querySelector('[data-src]'),
  };
}

/** HTML that is edited: without styles, as nodes of a document that loads nothing. */
export function cleanEditable(html: string): DocumentFragment {
  return DOMPurify.sanitize(renameStyles(html), sanitizeOptions);
}

function renameStyles(html: string): string {
  return html
    .replace(styleSheetPattern, '')
    .replace(tagPattern, (tag) => tag.replace(/\sstyle=/gi, ` ${styleAttribute}=`));
}

/** Restores the style attributes through the CSSOM after the nodes have been inserted into their frame. */
export function applyStyles(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLElement>(`[${styleAttribute}]`)) {
    element.style.cssText = element.getAttribute(styleAttribute) ?? '';
    element.removeAttribute(styleAttribute);
  }
}

function hasOwnColors(content: DocumentFragment, style: string): boolean {
  if (/(?:^|[;{\s])(?:background(?:-color)?|color)\s*:/i.test(style)) return true;
  if (content.querySelector('[bgcolor], font[color]')) return true;
  return [...content.querySelectorAll(`[${styleAttribute}]`)].some((each) =>
    /(?:^|[;\s])(?:background(?:-color)?|color)\s*:/i.test(each.getAttribute(styleAttribute) ?? ''),
  );
}

/** Folds quotations at the end into a `details` element, which needs no script. */
function foldQuotes(content: DocumentFragment): void {
  for (const quote of content.querySelectorAll('.m-gmail_quote, .m-moz-cite-prefix + blockquote, blockquote')) {
    if (quote.parentElement?.closest('details') || !isLastContent(quote)) continue;
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = '•••';
    quote.replaceWith(details);
    details.append(summary, quote);
  }
}

/** Whether no text follows the element. */
function isLastContent(node: Element): boolean {
  for (let here: Node | null = node; here && here.nodeType !== Node.DOCUMENT_FRAGMENT_NODE; here = here.parentNode)
    for (let next = here.nextSibling; next; next = next.nextSibling) if (next.textContent?.trim()) return false;
  return true;
}
