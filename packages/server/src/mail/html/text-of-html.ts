import { compile, type FormatCallback } from 'html-to-text';

/** Quotations deeper than this are not marked deeper: each mark stands on each line, so depth would multiply the text. */
const deepestQuote = 3;

const quotation: FormatCallback = (element, walk, builder, options) => {
  const marked = quotesAround(element.parent) < deepestQuote;
  builder.openBlock({ leadingLineBreaks: options.leadingLineBreaks ?? 1, reservedLineLength: 2 });
  walk(element.children, builder);
  const blockTransform = (text: string): string =>
    marked
      ? text
          .split('\n')
          .map((line) => `> ${line}`.trimEnd())
          .join('\n')
      : text;
  builder.closeBlock({ trailingLineBreaks: options.trailingLineBreaks ?? 1, blockTransform });
};

interface Surrounding {
  readonly name?: string | undefined;
  readonly parent?: Surrounding | null | undefined;
}

function quotesAround(element: Surrounding | null | undefined): number {
  let quotes = 0;
  for (let each = element; each; each = each.parent) if (each.name === 'blockquote') quotes += 1;
  return quotes;
}

const skipped = { format: 'skip' } as const;
const plainHeading = { options: { uppercase: false } } as const;

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: 8 * 1024 * 1024, maxDepth: 250 },
  formatters: { quotation },
  selectors: [
    { selector: 'blockquote', format: 'quotation' },
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
