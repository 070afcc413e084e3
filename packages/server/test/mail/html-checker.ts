import { type DefaultTreeAdapterTypes, parse, parseFragment } from 'parse5';

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;

/** Written beside the sanitiser's own lists, not taken from them: what a reader of mail needs. */
const elements = new Set(
  `html head body a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt em
  figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q s samp section small span strike strong style sub sup
  table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/),
);
const attributes = new Set(
  `align valign dir lang title alt summary bgcolor color face size width height border cellpadding cellspacing hspace vspace colspan rowspan span
  start value type nowrap noshade clear scope frame rules datetime style class id href rel target src data-src data-cid`.split(
    /\s+/,
  ),
);
const badStyle =
  /url|image|import|expression|@(?!media )|\\|<|position|behavior|binding|javascript|var\(|attr\(|content|\/\*/i;

/** All that an independent parser finds in sanitised HTML that may not be there, read as a page and as a part of one. */
export function findUnsafeHtml(html: string): string[] {
  const roots: Node[] = [
    parse(html),
    parseFragment(html),
    parse(`<!doctype html><table><td>${html}`),
    parseFragment(`<div>${html}</div>`),
  ];
  return roots.flatMap((root) => [...faults(root)]);
}

function* faults(node: Node): Generator<string> {
  if (node.nodeName === '#comment') yield 'a comment';
  if ('tagName' in node) yield* elementFaults(node);
  for (const child of 'childNodes' in node ? node.childNodes : []) yield* faults(child);
}

function* elementFaults(element: Element): Generator<string> {
  const { tagName, namespaceURI } = element;
  if (!elements.has(tagName)) yield `<${tagName}>`;
  if (namespaceURI !== 'http://www.w3.org/1999/xhtml') yield `<${tagName}> of ${namespaceURI}`;
  if (tagName === 'style')
    yield* styleFaults(element.childNodes.map((each) => ('value' in each ? each.value : '<')).join(''));
  for (const { name, value } of element.attrs) yield* attributeFaults(element, name, value);
}

function* attributeFaults({ tagName, attrs }: Element, name: string, value: string): Generator<string> {
  if (!attributes.has(name)) yield `${tagName} ${name}`;
  if (name === 'style') yield* styleFaults(value);
  if ((name === 'class' || name === 'id') && !value.split(' ').every((each) => each.startsWith('m-')))
    yield `${name}=${value}`;
  if (name === 'href') {
    if (!/^(https?:\/\/|mailto:|tel:)/.test(value)) yield `href=${value}`;
    const rel = attrs.find((each) => each.name === 'rel')?.value;
    const target = attrs.find((each) => each.name === 'target')?.value;
    if (tagName !== 'a' || rel !== 'noopener noreferrer' || target !== '_blank')
      yield `${tagName} href without rel and target`;
  }
  if (name === 'src' && !(tagName === 'img' && /^data:image\/(png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(value)))
    yield `src=${value}`;
  if (name === 'data-src' && !(tagName === 'img' && /^https?:\/\//.test(value))) yield `data-src=${value}`;
}

function* styleFaults(text: string): Generator<string> {
  const found = badStyle.exec(text);
  if (found) yield `style with ${found[0]}: ${text.slice(0, 200)}`;
  if (/margin[\w-]*:[^;}]*-\d/.test(text)) yield `style with a negative margin: ${text.slice(0, 200)}`;
}
