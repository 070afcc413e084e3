/**
 * HTML of drafts as text, without a parser: where the quoted message begins, signatures, and comparison. It only handles
 * HTML that the server has sanitised or the editor has written, which is well-formed.
 */

/** The classes by which mail programs recognise quoted messages and signatures. */
export const quoteClass = 'gmail_quote';
export const signatureClass = 'gmail_signature';

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
}

/** Lines of plain text as HTML. */
export function textToHtml(text: string): string {
  return text
    .split('\n')
    .map((line) => `<div>${escapeHtml(line) || '<br>'}</div>`)
    .join('');
}

const scopePattern = /^(<style>[\s\S]*?<\/style>)<div class="m-scope">([\s\S]*)<\/div>$/;
const quotePattern = new RegExp(`<div class="(?:m-)?${quoteClass}(?: [^"]*)?">`);

/** The parts of a draft: what the user writes, and the message that it quotes (null for none). */
export function splitQuote(html: string): { readonly html: string; readonly quote: string | null } {
  const [, style = '', scoped = html] = scopePattern.exec(html) ?? [];
  const index = scoped.search(quotePattern);
  return index < 0
    ? { html: scoped, quote: null }
    : { html: scoped.slice(0, index), quote: style + scoped.slice(index) };
}

/** The HTML of a quoted message as a part of the text. */
export function unwrapQuote(quote: string): string {
  return quote.replace(/^<style>[\s\S]*?<\/style>/, '').replace(quotePattern, '<div>');
}

/** The position and the end of the element with a signature, or null. */
function findSignature(html: string): { readonly start: number; readonly end: number } | null {
  const found = new RegExp(`<div class="(?:m-)?${signatureClass}(?: [^"]*)?">`).exec(html);
  if (!found) return null;
  let depth = 0;
  for (const { 0: tag, index } of html.slice(found.index).matchAll(/<div\b[^>]*>|<\/div>/g)) {
    depth += tag === '</div>' ? -1 : 1;
    if (depth === 0) return { start: found.index, end: found.index + index + tag.length };
  }
  return null;
}

/** The element with a signature; empty without one. */
export function wrapSignature(signatureHtml: string): string {
  return signatureHtml === '' ? '' : `<div class="${signatureClass}">${signatureHtml}</div>`;
}

/** Replaces the signature, or adds one at the end. An empty one removes it. */
export function replaceSignatureHtml(html: string, signatureHtml: string): string {
  const found = findSignature(html);
  const wrapped = wrapSignature(signatureHtml);
  if (found) return html.slice(0, found.start) + wrapped + html.slice(found.end);
  return wrapped === '' ? html : `${html}<div><br></div>${wrapped}`;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' };

/** A form in which HTML is equal before and after the server has sanitised it. */
export function normaliseHtml(html: string): string {
  return html
    .replace(/ (?:rel|target)="[^"]*"/g, '')
    .replace(/class="m-/g, 'class="')
    .replace(/\s*\/>/g, '>')
    .replace(/&(?:(amp|lt|gt|quot|nbsp)|#(\d+));/g, (_, name: string, code: string) =>
      name ? entities[name]! : String.fromCodePoint(Number(code)),
    )
    .replace(/\s+/g, ' ')
    .trim();
}

/** Whether a change to plain text would lose more than lines and paragraphs. */
export function isFormatted(html: string): boolean {
  return /<(?!\/|div\b|p\b|br\b)[a-z]/i.test(html);
}
