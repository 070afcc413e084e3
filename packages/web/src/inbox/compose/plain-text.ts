/** The plain text of a message that is edited, for the change to plain text. */
import { cleanEditable } from '../thread/purify.ts';

const blocks = new Set(
  'ADDRESS ARTICLE BLOCKQUOTE CENTER DD DIV DL DT H1 H2 H3 H4 H5 H6 HR LI OL P PRE SECTION TABLE TR UL'.split(' '),
);

/** Quotations begin with `>`, lists with a dash or their number. Links show their address. */
export function htmlToPlainText(html: string): string {
  const writer = new TextWriter();
  writer.writeChildren(cleanEditable(html), '');
  return writer.finish();
}

class TextWriter {
  readonly #lines: string[] = [];
  #line: string | null = null;
  #prefix = '';

  writeChildren(parent: Node, prefix: string): void {
    for (const child of parent.childNodes) this.#write(child, prefix);
  }

  finish(): string {
    this.#endLine();
    return this.#lines.join('\n').trimEnd();
  }

  #write(node: Node, prefix: string): void {
    if (node.nodeType === Node.TEXT_NODE) this.#append((node.textContent ?? '').replace(/\s+/g, ' '), prefix);
    else if (node instanceof HTMLElement) this.#writeElement(node, prefix);
  }

  #writeElement(element: HTMLElement, prefix: string): void {
    const { tagName } = element;
    if (tagName === 'BR') {
      this.#append('', prefix);
      this.#endLine();
      return;
    }
    if (!blocks.has(tagName)) {
      this.writeChildren(element, prefix);
      this.#writeAddress(element, prefix);
      return;
    }
    this.#endLine();
    if (tagName === 'LI') this.#append(listMarker(element), prefix);
    this.writeChildren(element, tagName === 'BLOCKQUOTE' ? `${prefix}> ` : prefix);
    this.#endLine();
    if (tagName === 'P') this.#lines.push(prefix.trimEnd());
  }

  #writeAddress(element: HTMLElement, prefix: string): void {
    const address = element.getAttribute('href')?.replace(/^mailto:/, '');
    if (address !== undefined && address !== element.textContent?.trim()) this.#append(` <${address}>`, prefix);
  }

  #append(text: string, prefix: string): void {
    if (this.#line === null) this.#prefix = prefix;
    if (this.#line === null && text === ' ') return;
    this.#line = (this.#line ?? '') + text;
  }

  #endLine(): void {
    if (this.#line !== null) this.#lines.push((this.#prefix + this.#line).trimEnd());
    this.#line = null;
  }
}

function listMarker(item: HTMLElement): string {
  if (item.parentElement?.tagName !== 'OL') return '- ';
  return `${[...item.parentElement.children].indexOf(item) + 1}. `;
}
