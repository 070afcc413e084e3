import type sanitize from 'sanitize-html';
import { loadLater } from '../../base/load-later.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanText, truncateText } from '../parse/clean-text.ts';
import { isMismatchedLink } from './link-url.ts';
import { sanitiseAttributes } from './safe-attributes.ts';
import { sanitiseStyleSheet, scopeClass } from './style-sheet.ts';

const loadSanitize = loadLater<typeof sanitize>('sanitize-html');
const loadParser = loadLater<typeof import('htmlparser2')>('htmlparser2');

export interface SafeHtml {
  readonly html: string;
  /** The HTML was longer than the limit; the rest was not read. */
  readonly isTruncated: boolean;
  /** A link's text shows another domain than its address. */
  readonly mismatchedLink: boolean;
}

/**
 * Allowed elements. Other elements are replaced by their contents. There are no forms, frames or media, and no elements
 * whose contents a parser reads as raw text.
 */
const allowedTags =
  `a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt
  em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q s samp section small span strike strong
  sub sup table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/);

/** Elements that are removed with their contents. */
const droppedTags =
  `applet audio base canvas datalist embed frame frameset head-title iframe link listing math meta meter noembed noframes
  noscript object option param plaintext portal progress script select source style svg template textarea title track video xml xmp`.split(
    /\s+/,
  );

/**
 * Elements nested deeper than `shown` lose their tags, but not their text. HTML with more than `open` nested elements
 * is cut, because parsers search all open elements: 40,000 nested elements took half a minute.
 */
const bounds = { shown: 200, open: 1000 } as const;

/**
 * How much HTML of one message is read: code units, elements, and pieces of text (each entity is one). The rest is cut.
 */
export class HtmlBudget {
  length: number = mailLimits.htmlLength;
  elements = 100_000;
  texts = 400_000;
}

/**
 * Sanitises the HTML of a message: only allowed elements, attributes and styles, links of four schemes, and images that
 * are not loaded automatically. The tests compare the result with an independent parser and a browser. The frame that
 * displays it has its own content security policy as a second barrier (decisions/015).
 *
 * @param budget how much may still be read; several parts of one message share it.
 */
export function sanitiseHtml(written: string, budget: HtmlBudget = new HtmlBudget()): SafeHtml {
  const whole = cleanText(truncateText(written, mailLimits.htmlLength + 1));
  const { text, styles } = scanHtml(truncateText(whole, budget.length), budget);
  const links = new LinkChecker();
  const body = loadSanitize()(text, {
    allowedTags: allowedTags,
    nonTextTags: droppedTags,
    allowedAttributes: false,
    allowedSchemesAppliedToAttributes: [],
    nonBooleanAttributes: [],
    parseStyleAttributes: false,
    nestingLimit: bounds.shown,
    transformTags: {
      '*': (tag, attributes) => {
        const tagName = tag === 'body' ? 'div' : tag;
        const attribs = sanitiseAttributes(tagName, attributes);
        if (tagName === 'a') links.open(attribs['href']);
        return { tagName, attribs };
      },
    },
    textFilter: (escaped) => {
      links.text(escaped);
      return escaped;
    },
    onCloseTag: (tag) => {
      if (tag === 'a') links.close();
    },
  });
  // The rebuilt HTML may be several times as long as the original; it is cut as well.
  if (body.length > mailLimits.htmlLength * 2)
    return { ...sanitiseHtml(text.slice(0, text.length / 4)), isTruncated: true };
  const sheet = sanitiseStyleSheet(styles);
  return {
    html: sheet ? `<style>${sheet}</style><div class="${scopeClass}">${body}</div>` : body,
    isTruncated: whole.length > text.length,
    mismatchedLink: links.hasMismatch,
  };
}

/**
 * Scans HTML once for the position where it must be cut, and for the contents of its style elements. A browser may
 * recognise other style elements; this does no harm, because all of the HTML is sanitised.
 */
function scanHtml(html: string, budget: HtmlBudget): { readonly text: string; readonly styles: string } {
  let openElements = 0;
  let elementCount = 0;
  let texts = 0;
  let end = html.length;
  let inStyle = false;
  let styles = '';
  const truncate = (): void => {
    end = Math.min(end, parser.startIndex);
    parser.pause();
  };
  const { Parser } = loadParser();
  const parser = new Parser({
    onopentagname: (name) => {
      inStyle = name === 'style';
      openElements += 1;
      elementCount += 1;
      if (openElements > bounds.open || elementCount > budget.elements) truncate();
    },
    onclosetag: () => {
      inStyle = false;
      openElements -= 1;
    },
    ontext: (piece) => {
      if (inStyle) styles += piece;
      texts += 1;
      if (texts > budget.texts) truncate();
    },
  });
  for (let offset = 0; offset < html.length && end === html.length; offset += scanLength)
    parser.write(html.slice(offset, offset + scanLength));
  budget.length -= end;
  budget.elements -= Math.min(elementCount, budget.elements);
  budget.texts -= Math.min(texts, budget.texts);
  return { text: html.slice(0, end), styles };
}

/** Number of code units that are scanned at a time. */
const scanLength = 16 * 1024;

/** Compares the text of each link with its address. */
class LinkChecker {
  hasMismatch = false;
  #href: string | undefined;
  #text = '';

  open(href: string | undefined): void {
    this.close();
    this.#href = href;
  }

  text(escaped: string): void {
    if (this.#href !== undefined && this.#text.length < 1000) this.#text += escaped;
  }

  close(): void {
    if (this.#href !== undefined && isMismatchedLink(this.#text.replaceAll('&amp;', '&'), this.#href))
      this.hasMismatch = true;
    this.#href = undefined;
    this.#text = '';
  }
}
