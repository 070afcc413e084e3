import { Parser } from 'htmlparser2';
import sanitize from 'sanitize-html';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanText, shortened } from '../parse/clean-text.ts';
import { leadsElsewhere } from './link-address.ts';
import { safeAttributes } from './safe-attributes.ts';
import { safeSheet, scopeClass } from './style-sheet.ts';

export interface SafeHtml {
  readonly html: string;
  /** The HTML was longer than the limit; what lies beyond it was not read. */
  readonly cut: boolean;
  /** A link's text shows another domain than the one it leads to. */
  readonly mismatchedLink: boolean;
}

/** Elements that may stand; of all others the contents alone. No forms, no frames, no media, nothing that a parser reads as raw text. */
const tags =
  `a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt
  em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q s samp section small span strike strong
  sub sup table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/);

/** Elements that go with all that is in them. */
const dropped =
  `applet audio base canvas datalist embed frame frameset head-title iframe link listing math meta meter noembed noframes
  noscript object option param plaintext portal progress script select source style svg template textarea title track video xml xmp`.split(
    /\s+/,
  );

/**
 * Elements deeper than `shown` lose their tags, not their text. At `open` elements that lie in each other the HTML is cut: the parsers
 * look through what is open, so that 40,000 nested elements took half a minute.
 */
const bounds = { shown: 200, open: 1000 } as const;

/** How much HTML of one message is read: code units, elements, and pieces of text (each entity is one). What lies beyond is cut. */
export class HtmlRoom {
  length: number = mailLimits.htmlLength;
  elements = 100_000;
  texts = 400_000;
}

/**
 * HTML of a message that may be shown: allowed elements and attributes, styles of an allowed list, links of four schemes, images that
 * load nothing by themselves. What it gives is held against an independent parser and a browser in the tests; the frame that shows
 * it has a policy of its own all the same (decisions/015).
 *
 * @param room what may still be read; several parts of one message share it.
 */
export function sanitiseHtml(written: string, room: HtmlRoom = new HtmlRoom()): SafeHtml {
  const whole = cleanText(shortened(written, mailLimits.htmlLength + 1));
  const { text, styles } = surveyed(shortened(whole, room.length), room);
  const links = new LinkWatch();
  const body = sanitize(text, {
    allowedTags: tags,
    nonTextTags: dropped,
    allowedAttributes: false,
    allowedSchemesAppliedToAttributes: [],
    nonBooleanAttributes: [],
    parseStyleAttributes: false,
    nestingLimit: bounds.shown,
    transformTags: {
      '*': (tag, attributes) => {
        const tagName = tag === 'body' ? 'div' : tag;
        const attribs = safeAttributes(tagName, attributes);
        if (tagName === 'a') links.opened(attribs['href']);
        return { tagName, attribs };
      },
    },
    textFilter: (escaped) => {
      links.text(escaped);
      return escaped;
    },
    onCloseTag: (tag) => {
      if (tag === 'a') links.closed();
    },
  });
  // What is written anew may be several times as long; that is no reason to keep it.
  if (body.length > mailLimits.htmlLength * 2) return { ...sanitiseHtml(text.slice(0, text.length / 4)), cut: true };
  const sheet = safeSheet(styles);
  return {
    html: sheet ? `<style>${sheet}</style><div class="${scopeClass}">${body}</div>` : body,
    cut: whole.length > text.length,
    mismatchedLink: links.mismatched,
  };
}

/**
 * Looks through HTML once: where it has to be cut, and the texts of its style elements. Wherever a browser would see one of those more or less
 * does not matter, since all of it is sanitised.
 */
function surveyed(html: string, room: HtmlRoom): { readonly text: string; readonly styles: string } {
  let open = 0;
  let all = 0;
  let texts = 0;
  let end = html.length;
  let inStyle = false;
  let styles = '';
  const cut = (): void => {
    end = Math.min(end, parser.startIndex);
    parser.pause();
  };
  const parser = new Parser({
    onopentagname: (name) => {
      inStyle = name === 'style';
      open += 1;
      all += 1;
      if (open > bounds.open || all > room.elements) cut();
    },
    onclosetag: () => {
      inStyle = false;
      open -= 1;
    },
    ontext: (piece) => {
      if (inStyle) styles += piece;
      texts += 1;
      if (texts > room.texts) cut();
    },
  });
  for (let at = 0; at < html.length && end === html.length; at += step) parser.write(html.slice(at, at + step));
  room.length -= end;
  room.elements -= Math.min(all, room.elements);
  room.texts -= Math.min(texts, room.texts);
  return { text: html.slice(0, end), styles };
}

/** Code units that are looked through at a time. */
const step = 16 * 1024;

/** Holds the text of each link against where it leads. */
class LinkWatch {
  mismatched = false;
  #href: string | undefined;
  #text = '';

  opened(href: string | undefined): void {
    this.closed();
    this.#href = href;
  }

  text(escaped: string): void {
    if (this.#href !== undefined && this.#text.length < 1000) this.#text += escaped;
  }

  closed(): void {
    if (this.#href !== undefined && leadsElsewhere(this.#text.replaceAll('&amp;', '&'), this.#href))
      this.mismatched = true;
    this.#href = undefined;
    this.#text = '';
  }
}
