/**
 * What a message in the rich text editor can contain. The editor holds nothing else: pasted and loaded HTML is parsed into
 * this schema, and the HTML of a draft is generated from it. A node or an attribute that is not named here cannot occur.
 */
import { type DOMOutputSpec, type MarkSpec, type NodeSpec, Schema } from 'prosemirror-model';
import { toLinkAddress } from './link-address.ts';

/** Classes of the server's sanitiser begin with `m-`; those that this editor writes do not. */
const signatureSelector = 'div.gmail_signature, div.m-gmail_signature';

const paragraph: NodeSpec = {
  content: 'inline*',
  group: 'block',
  // A `p` has a margin in every mail program. Lines that are typed are `div`, one below the other.
  attrs: { spaced: { default: false } },
  parseDOM: [{ tag: 'p', attrs: { spaced: true } }, { tag: 'div' }],
  toDOM: ({ attrs }): DOMOutputSpec => [attrs['spaced'] === true ? 'p' : 'div', 0],
};

const heading: NodeSpec = {
  content: 'inline*',
  group: 'block',
  defining: true,
  attrs: { level: { default: 1 } },
  parseDOM: [
    { tag: 'h1, h2', attrs: { level: 1 } },
    { tag: 'h3, h4, h5, h6', attrs: { level: 2 } },
  ],
  toDOM: ({ attrs }): DOMOutputSpec => [attrs['level'] === 1 ? 'h2' : 'h3', 0],
};

const blockquote: NodeSpec = {
  content: 'block+',
  group: 'block',
  defining: true,
  parseDOM: [{ tag: 'blockquote' }],
  toDOM: (): DOMOutputSpec => ['blockquote', 0],
};

const bulletList: NodeSpec = {
  content: 'list_item+',
  group: 'block',
  parseDOM: [{ tag: 'ul' }],
  toDOM: (): DOMOutputSpec => ['ul', 0],
};

const orderedList: NodeSpec = {
  content: 'list_item+',
  group: 'block',
  parseDOM: [{ tag: 'ol' }],
  toDOM: (): DOMOutputSpec => ['ol', 0],
};

const listItem: NodeSpec = {
  content: 'paragraph block*',
  defining: true,
  parseDOM: [{ tag: 'li' }],
  toDOM: (): DOMOutputSpec => ['li', 0],
};

/** The signature of the sender, which is replaced when the sender changes. */
const signature: NodeSpec = {
  content: 'block+',
  parseDOM: [{ tag: signatureSelector, priority: 60 }],
  toDOM: (): DOMOutputSpec => ['div', { class: 'gmail_signature' }, 0],
};

/** A picture of the message, named by its content id. No other picture can occur, so the editor loads nothing. */
const image: NodeSpec = {
  inline: true,
  group: 'inline',
  draggable: true,
  attrs: { cid: {}, alt: { default: '' }, width: { default: null } },
  parseDOM: [
    {
      tag: 'img[data-cid]',
      getAttrs: (element) => ({
        cid: element.getAttribute('data-cid'),
        alt: element.getAttribute('alt') ?? '',
        width: parseWidth(element.getAttribute('width')),
      }),
    },
  ],
  toDOM: ({ attrs }): DOMOutputSpec => [
    'img',
    { 'data-cid': attrs['cid'], alt: attrs['alt'], ...(attrs['width'] !== null && { width: attrs['width'] }) },
  ],
};

function parseWidth(text: string | null): number | null {
  const width = Number(text);
  return text !== null && Number.isInteger(width) && width > 0 && width <= 4000 ? width : null;
}

const hardBreak: NodeSpec = {
  inline: true,
  group: 'inline',
  selectable: false,
  parseDOM: [{ tag: 'br' }],
  toDOM: (): DOMOutputSpec => ['br'],
};

const link: MarkSpec = {
  attrs: { href: {} },
  inclusive: false,
  parseDOM: [
    {
      tag: 'a[href]',
      getAttrs: (element) => {
        const href = toLinkAddress(element.getAttribute('href') ?? '');
        return href === null ? false : { href };
      },
    },
  ],
  toDOM: ({ attrs }): DOMOutputSpec => ['a', { href: attrs['href'], rel: 'noopener noreferrer', target: '_blank' }, 0],
};

/** The order is that of nesting: `<a><b><i><u>`. */
const marks = {
  link,
  strong: {
    parseDOM: [{ tag: 'strong' }, { tag: 'b', getAttrs: isNotWrapper }],
    toDOM: (): DOMOutputSpec => ['strong', 0],
  },
  em: { parseDOM: [{ tag: 'em' }, { tag: 'i' }], toDOM: (): DOMOutputSpec => ['em', 0] },
  underline: { parseDOM: [{ tag: 'u' }, { tag: 'ins' }], toDOM: (): DOMOutputSpec => ['u', 0] },
} as const satisfies Record<string, MarkSpec>;

/** Some programs wrap everything that is copied into one `<b id="docs-internal-guid-…">`, which is not bold. */
function isNotWrapper(element: HTMLElement): false | null {
  return element.id.startsWith('docs-internal-guid') || element.id.startsWith('m-docs-internal-guid') ? false : null;
}

export const mailSchema = new Schema({
  nodes: {
    doc: { content: '(block | signature)+' },
    paragraph,
    heading,
    blockquote,
    bullet_list: bulletList,
    ordered_list: orderedList,
    list_item: listItem,
    signature,
    image,
    hard_break: hardBreak,
    text: { group: 'inline' },
  },
  marks,
});

export type MarkName = 'link' | 'strong' | 'em' | 'underline';

/** A node type that exists. */
export function nodeType(name: string): (typeof mailSchema.nodes)[string] & object {
  return mailSchema.nodes[name]!;
}
