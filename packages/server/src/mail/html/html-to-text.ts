import type { FormatCallback, HtmlToTextOptions } from 'html-to-text';
import { loadLater } from '../../base/load-later.ts';

const loadLibrary = loadLater<typeof import('html-to-text')>('html-to-text');

/** Maximum depth of quote marks. Each line repeats them, so a deep quotation would multiply the length of the text. */
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

/** The cells of a table row are written on one line with a space between them. */
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

const options: HtmlToTextOptions = {
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
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...plainHeading })),
  ],
};

/** For the search index. */
const indexOptions = withLinks({ ignoreHref: true });
/** For recipients who read plain text. */
const messageOptions = withLinks({ ignoreHref: false, hideLinkHrefIfSameAsText: true, linkBrackets: ['<', '>'] });

function withLinks(linkOptions: object): HtmlToTextOptions {
  return { ...options, selectors: [...(options.selectors ?? []), { selector: 'a', options: linkOptions }] };
}

let convert: ((html: string) => string) | null = null;

/**
 * The text of sanitised HTML, one line for each paragraph, for the search index. Addresses of links are left out,
 * because nobody searches for them. Soft hyphens are removed, because they would split words.
 */
export function htmlToText(html: string): string {
  if (html === '') return '';
  convert ??= loadLibrary().compile(indexOptions);
  return convert(html).replaceAll('\u00ad', '');
}

/** The plain-text alternative of a message that is sent, with the addresses of its links. */
export function htmlToMessageText(html: string): string {
  if (html === '') return '';
  return loadLibrary().compile(messageOptions)(html);
}
