import { compile, type FormatCallback } from 'html-to-text';

/** Quotations deeper than this are not marked deeper: each mark stands on each line, so depth would multiply the text. */
const maxQuoteDepth = 3;

const quotation: FormatCallback = (element, walk, builder, options) => {
  const isMarked = countEnclosingQuotes(element.parent) < maxQuoteDepth;
  builder.openBlock({ leadingLineBreaks: options.leadingLineBreaks ?? 1, reservedLineLength: 2 });
  walk(element.children, builder);
  const blockTransform = (text: string): string =>
    isMarked
      ? text
          .split('\n')
          .map((line) => `> ${line}`.trimEnd())
          .join('\n')
      : text;
  builder.closeBlock({ trailingLineBreaks: options.trailingLineBreaks ?? 1, blockTransform });
};

/** Cells stand next to each other with a space between them, in a row of their own line. */
const cell: FormatCallback = (element, walk, builder) => {
  builder.addInline(' ');
  walk(element.children, builder);
  builder.addInline(' ');
};
const ownLine: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 1 });
};

interface HtmlAncestor {
  readonly name?: string | undefined;
  readonly parent?: HtmlAncestor | null | undefined;
}

function countEnclosingQuotes(element: HtmlAncestor | null | undefined): number {
  let quotes = 0;
  for (let each = element; each; each = each.parent) if (each.name === 'blockquote') quotes += 1;
  return quotes;
}

const skipped = { format: 'skip' } as const;
const plainHeading = { options: { uppercase: false } } as const;

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: 8 * 1024 * 1024, maxDepth: 250 },
  formatters: { quotation, cell, ownLine },
  selectors: [
    { selector: 'blockquote', format: 'quotation' },
    ...['td', 'th'].map((selector) => ({ selector, format: 'cell' })),
    ...['tr', 'caption', 'dt', 'dd'].map((selector) => ({ selector, format: 'ownLine' })),
    { selector: 'style', ...skipped },
    { selector: 'img', ...skipped },
    { selector: 'hr', ...skipped },
    { selector: 'a', options: { ignoreHref: true } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...plainHeading })),
  ],
});

/** The words of sanitised HTML as plain text, a paragraph a line. Addresses of links are left out: nobody searches or reads them. Soft hyphens would part words. */
export function htmlToText(html: string): string {
  return html === '' ? '' : convert(html).replaceAll('\u00ad', '');
}
