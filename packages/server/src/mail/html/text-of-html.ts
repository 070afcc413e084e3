import { compile } from 'html-to-text';

const skipped = { format: 'skip' } as const;
const plainHeading = { options: { uppercase: false } } as const;

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: 8 * 1024 * 1024, maxDepth: 250 },
  selectors: [
    { selector: 'style', ...skipped },
    { selector: 'img', ...skipped },
    { selector: 'hr', ...skipped },
    { selector: 'a', options: { ignoreHref: true } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...plainHeading })),
  ],
});

/** The words of sanitised HTML as plain text, a paragraph a line. Addresses of links are left out: nobody searches or reads them. */
export function textOfHtml(html: string): string {
  return html === '' ? '' : convert(html);
}
