/** Conversion between HTML and the document of the editor. */
import { DOMParser, DOMSerializer, type Node, type Slice } from 'prosemirror-model';
import { cleanEditable } from '../../thread/purify.ts';
import { mailSchema } from './mail-schema.ts';

const parser = DOMParser.fromSchema(mailSchema);
const serializer = DOMSerializer.fromSchema(mailSchema);
/** Elements that are created in it load nothing. */
const inertDocument = document.implementation.createHTMLDocument('');

/** The document of a draft's HTML. */
export function parseMessage(html: string): Node {
  return parser.parse(simplify(cleanEditable(html)));
}

/** What is pasted or dropped. Pictures are left out, except those that `isKnownPicture` accepts by their content id. */
export function parsePasted(html: string, isKnownPicture: (cid: string) => boolean): Slice {
  const content = simplify(cleanEditable(html));
  for (const picture of content.querySelectorAll('img'))
    if (!isKnownPicture(picture.getAttribute('data-cid') ?? '')) picture.remove();
  return parser.parseSlice(content);
}

/** The HTML of a document: only what the schema names. */
export function writeMessage(content: Node): string {
  const target = inertDocument.createElement('div');
  target.append(serializer.serializeFragment(content.content, { document: inertDocument }));
  // An empty line without a break has no height in a mail program.
  for (const line of target.querySelectorAll('div,p'))
    if (line.childNodes.length === 0) line.append(inertDocument.createElement('br'));
  return target.innerHTML;
}

const blockNames =
  'address,article,aside,blockquote,center,dd,div,dl,dt,figure,footer,h1,h2,h3,h4,h5,h6,header,li,main,ol,p,pre,section,table,td,th,tr,ul';

/**
 * Removes what would become empty lines: the break that fills an empty line, breaks at the end of a line, and elements
 * that only contain other blocks.
 */
function simplify(content: DocumentFragment): DocumentFragment {
  for (const line of content.querySelectorAll('br')) {
    const parent = line.parentElement;
    if (parent?.matches('p,div,li,h1,h2,h3,h4,h5,h6') && !hasContentAfter(line)) line.remove();
  }
  for (const element of [...content.querySelectorAll('div')].reverse()) {
    if (element.matches('.gmail_signature, .m-gmail_signature')) continue;
    if (element.querySelector(blockNames)) element.replaceWith(...element.childNodes);
  }
  return content;
}

function hasContentAfter(node: ChildNode): boolean {
  for (let next = node.nextSibling; next; next = next.nextSibling)
    if (next.nodeType === 1 || next.textContent?.trim()) return true;
  return false;
}
