import { convert } from 'html-to-text';

export function textOfHtml(html: string): string {
  return convert(html.slice(0, 500_000), { wordwrap: false, limits: { maxInputLength: 500_000 } });
}
