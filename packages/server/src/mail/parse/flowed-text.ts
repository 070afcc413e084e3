/**
 * Joins the lines of `format=flowed` text (RFC 3676): a line that ends with a space continues in the next line of the same
 * quote depth. Space stuffing is removed, quote marks are kept.
 *
 * @param deleteSpace `delsp=yes`: the space at the end of a flowed line is not part of the text.
 */
export function unflow(text: string, deleteSpace: boolean): string {
  const result: string[] = [];
  let paragraph: string[] = [];
  let depth = 0;
  const flush = (): void => {
    if (paragraph.length > 0) result.push(quote(paragraph.join(''), depth));
    paragraph = [];
  };
  for (const line of text.split(/\r?\n/)) {
    const marks = quoteDepth(line);
    const content = line.slice(line[marks] === ' ' ? marks + 1 : marks);
    const isSignature = content === '-- ';
    if (marks !== depth || isSignature) flush();
    depth = marks;
    const flows = content.endsWith(' ') && !isSignature;
    paragraph.push(flows && deleteSpace ? content.slice(0, -1) : content);
    if (!flows) flush();
  }
  flush();
  return result.join('\n');
}

function quoteDepth(line: string): number {
  let depth = 0;
  while (line[depth] === '>') depth += 1;
  return depth;
}

function quote(text: string, depth: number): string {
  const marks = '>'.repeat(depth);
  return depth === 0 || text === '' ? marks + text : `${marks} ${text}`;
}
