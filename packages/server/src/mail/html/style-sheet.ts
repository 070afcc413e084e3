import type { Atrule, CssNode, parse, Rule, Selector } from 'css-tree';
import { loadLater } from '../../base/load-later.ts';
import { sanitiseValue, writeCss } from './style-values.ts';

const loadParser = loadLater<typeof parse>('css-tree/parser');

/** The prefix of every class and id of a message, so that no style or script of the surrounding page applies to it. */
const namePrefix = 'm-';
/** A class or id with the prefix. It is added once, however often the HTML is sanitised. */
export function prefixName(name: string): string {
  return name.startsWith(namePrefix) ? name : namePrefix + name;
}

/** The class of the element that contains a message with a style sheet. Each of its rules begins with it. */
export const scopeClass = `${namePrefix}scope`;

/**
 * Maximum length of one style attribute and of all style sheets of a message, in code units, and the maximum contents
 * of a style sheet.
 */
const bounds = { attribute: 8 * 1024, sheet: 256 * 1024, rules: 3000, selectors: 50, steps: 12 } as const;

const safeName = /^[\p{L}\p{N}_-]{1,100}$/u;
const pseudoClasses = new Set(['hover', 'link', 'visited', 'active', 'focus', 'first-child', 'last-child']);
/** Element names that stand for the whole message. */
const roots = new Set(['html', 'body']);
const mediaText = /^[\w\s():,.%/-]{1,200}$/;

/** A style attribute with its allowed declarations; empty if none is allowed. */
export function sanitiseStyle(text: string): string {
  if (text.length > bounds.attribute) return '';
  const list = parseCss(text, 'declarationList');
  return list?.type === 'DeclarationList' ? renderDeclarations(list.children.toArray()) : '';
}

/**
 * Style sheets with their allowed rules, limited to the scope; empty if none is allowed. A sheet that is too long is
 * dropped.
 */
export function sanitiseStyleSheet(text: string): string {
  if (text.length > bounds.sheet) return '';
  const sheet = parseCss(text.replace(/<!--|-->/g, ''), 'stylesheet');
  if (sheet?.type !== 'StyleSheet') return '';
  return renderRules(sheet.children.toArray().slice(0, bounds.rules), true);
}

/** The parser is recursive. A style sheet that is too deeply nested for it is dropped. */
function parseCss(text: string, context: 'declarationList' | 'stylesheet'): CssNode | null {
  try {
    return loadParser()(text, { context, parseCustomProperty: false });
  } catch {
    return null;
  }
}

function renderRules(nodes: readonly CssNode[], outermost: boolean): string {
  return nodes
    .map((node) => {
      if (node.type === 'Rule') return renderRule(node);
      return outermost && node.type === 'Atrule' ? renderMedia(node) : '';
    })
    .filter((text) => text !== '')
    .join('\n');
}

function renderMedia({ name, prelude, block }: Atrule): string {
  if (name.toLowerCase() !== 'media' || prelude === null || block === null) return '';
  const condition = writeCss(prelude);
  const inner = mediaText.test(condition) ? renderRules(block.children.toArray().slice(0, bounds.rules), false) : '';
  return inner && `@media ${condition}{${inner}}`;
}

function renderRule({ prelude, block }: Rule): string {
  if (prelude.type !== 'SelectorList') return '';
  const selectors = prelude.children
    .toArray()
    .slice(0, bounds.selectors)
    .map((each) => (each.type === 'Selector' ? scopeSelector(each) : null))
    .filter((each) => each !== null);
  const body = selectors.length > 0 ? renderDeclarations(block.children.toArray()) : '';
  return body && `${selectors.join(',')}{${body}}`;
}

function renderDeclarations(nodes: readonly CssNode[]): string {
  const safeDeclarations: string[] = [];
  for (const node of nodes) {
    if (node.type !== 'Declaration') continue;
    const property = node.property.toLowerCase();
    const value = sanitiseValue(property, node.value);
    if (value !== null) safeDeclarations.push(`${property}:${value}${node.important === true ? '!important' : ''}`);
  }
  return safeDeclarations.join(';');
}

/** A selector with prefixed names, below the scope; null if a part of it is not allowed. */
function scopeSelector(selector: Selector): string | null {
  const steps = selector.children.toArray();
  if (steps.length > bounds.steps) return null;
  const texts = steps.map(renderStep);
  if (texts.length === 0 || texts.includes(null)) return null;
  const [first] = steps;
  const fromRoot = first?.type === 'TypeSelector' && roots.has(first.name.toLowerCase());
  // HTML that was sanitised before, such as a quoted message, is limited to the scope already.
  if (texts[0] === `.${scopeClass}`) return texts.join('');
  return `.${scopeClass}${fromRoot ? '' : ' '}${texts.join('')}`;
}

function renderStep(node: CssNode, index: number): string | null {
  if (node.type === 'TypeSelector') return renderTypeStep(node.name.toLowerCase(), index);
  if (node.type === 'ClassSelector') return safeName.test(node.name) ? `.${prefixName(node.name)}` : null;
  if (node.type === 'IdSelector') return safeName.test(node.name) ? `#${prefixName(node.name)}` : null;
  if (node.type === 'PseudoClassSelector') {
    const name = node.name.toLowerCase();
    return node.children === null && pseudoClasses.has(name) ? `:${name}` : null;
  }
  if (node.type !== 'Combinator') return null;
  return index > 0 && [' ', '>', '+', '~'].includes(node.name) ? node.name : null;
}

function renderTypeStep(name: string, index: number): string | null {
  if (roots.has(name)) return index === 0 ? '' : null;
  return /^([a-z][a-z0-9]{0,15}|\*)$/.test(name) ? name : null;
}
