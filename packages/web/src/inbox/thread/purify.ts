/**
 * The HTML of a mail as nodes that may be shown. The server has cleaned it already (docs/mail.md); it is cleaned once more
 * here, by another program, since what stands between a stranger's markup and the reader must not be one program alone.
 *
 * No text is parsed again afterwards: the nodes that DOMPurify made are the ones that are shown.
 */
import DOMPurify from 'dompurify';

export interface CleanMail {
  readonly content: DocumentFragment;
  /** Rules of the mail's own, held to `.m-scope` by the server. */
  readonly style: string;
  /** It says how it looks: on paper of its own, it stays readable where the interface is dark. */
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

/** `data-look` is what `style` was: an attribute that the page's policy lets nobody set by markup. */
const styleAttribute = 'data-look';
const styleSheetPattern = /<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi;
const tagPattern = /<[a-z][^<>]*>/gi;

export function cleanMail(html: string): CleanMail {
  const style = [...html.matchAll(styleSheetPattern)].map(([, rules = '']) => rules).join('\n');
  const marked = html
    .replace(styleSheetPattern, '')
    .replace(tagPattern, (tag) => tag.replace(/\sstyle=/gi, ` ${styleAttribute}=`));
  const content = DOMPurify.sanitize(marked, sanitizeOptions);
  for (const link of content.querySelectorAll('a[href]')) {
    link.setAttribute('target', '_blank');
    link.setAttribute('rel', 'noopener noreferrer');
  }
  foldQuotes(content);
  return {
    content,
    style,
    hasOwnColors: hasOwnColors(content, style),
    hasRemoteImages: !!content.querySelector('[data-src]'),
  };
}

/** Style attributes come back through the object model, once the nodes stand in their frame. */
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

/** Quotations at the end are folded: the browser opens and closes `details` without a script. */
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

/** Whether nothing is said after it. */
function isLastContent(node: Element): boolean {
  for (let here: Node | null = node; here && here.nodeType !== Node.DOCUMENT_FRAGMENT_NODE; here = here.parentNode)
    for (let next = here.nextSibling; next; next = next.nextSibling) if (next.textContent?.trim()) return false;
  return true;
}
