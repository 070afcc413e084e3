import sanitize from 'sanitize-html';

export interface SafeHtml {
  readonly html: string;
  readonly cut: boolean;
  readonly mismatchedLink: boolean;
}

export function sanitiseHtml(html: string): SafeHtml {
  return { html: sanitize(html.slice(0, 2_000_000)), cut: false, mismatchedLink: false };
}

export const escapeText = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
