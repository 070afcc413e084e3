import type { CssNode, generate, Value } from 'css-tree';
import { loadLater } from '../../base/load-later.ts';

/** Without the dictionaries of CSS, which take four fifths of the time to load the library. */
const loadGenerator = loadLater<typeof generate>('css-tree/generator');

/** Properties that a message may set: colours, fonts and boxes, but nothing that positions, animates or loads. */
const properties = new Set(
  `background background-color border border-bottom border-bottom-color border-bottom-left-radius border-bottom-right-radius
  border-bottom-style border-bottom-width border-collapse border-color border-left border-left-color border-left-style border-left-width
  border-radius border-right border-right-color border-right-style border-right-width border-spacing border-style border-top
  border-top-color border-top-left-radius border-top-right-radius border-top-style border-top-width border-width box-sizing caption-side
  clear color direction display empty-cells float font font-family font-size font-stretch font-style font-variant font-weight height
  letter-spacing line-height list-style list-style-position list-style-type margin margin-bottom margin-left margin-right margin-top
  max-height max-width min-height min-width opacity overflow overflow-wrap overflow-x overflow-y padding padding-bottom padding-left
  padding-right padding-top table-layout text-align text-decoration text-decoration-color text-decoration-line text-decoration-style
  text-indent text-overflow text-transform unicode-bidi vertical-align visibility white-space width word-break word-spacing word-wrap`.split(
    /\s+/,
  ),
);

const functions = new Set(['rgb', 'rgba', 'hsl', 'hsla', 'calc', 'min', 'max', 'clamp', 'linear-gradient']);
const leaves = new Set([
  'Identifier',
  'Hash',
  'Number',
  'Percentage',
  'Dimension',
  'Operator',
  'String',
  'Parentheses',
]);
/**
 * The final check of a value as text, whatever the parser returned: no escape, bracket, colon, address or end of a
 * rule.
 */
const safeText = /^[\p{L}\p{N}\s#%.,()+\-*/!'"]{1,400}$/u;

/**
 * The text of a declaration's value, or null if it is not allowed. A background loses its image. A value with any other
 * address, variable or unknown function is not allowed.
 */
export function sanitiseValue(property: string, value: CssNode): string | null {
  if (value.type !== 'Value' || !properties.has(property)) return null;
  const safeNodes = property === 'background' ? withoutImages(value) : value;
  if (safeNodes.children.isEmpty || !safeNodes.children.toArray().every((node) => isSafe(node, 0))) return null;
  const text = writeCss(safeNodes);
  if (!safeText.test(text)) return null;
  return isMargin(property) && /(^|[\s(])-/.test(text) ? null : text;
}

function isSafe(node: CssNode, depth: number): boolean {
  if (depth > 8) return false;
  if (node.type === 'Function' && !functions.has(node.name.toLowerCase())) return false;
  if (node.type !== 'Function' && !leaves.has(node.type)) return false;
  if (node.type !== 'Function' && node.type !== 'Parentheses') return true;
  return node.children.toArray().every((child) => isSafe(child, depth + 1));
}

function withoutImages(value: Value): Value {
  return { ...value, children: value.children.filter((node) => node.type !== 'Url') };
}

/** A negative margin could move the message over the surrounding page. */
const isMargin = (property: string): boolean => property.startsWith('margin') || property === 'text-indent';

/** The text of a node of a parsed style sheet. */
export function writeCss(node: CssNode): string {
  return loadGenerator()(node);
}
