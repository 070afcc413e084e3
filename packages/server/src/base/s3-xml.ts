/** Reads the flat XML of S3 replies. Keys of this server contain no characters that XML escapes. */

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The texts of all elements of a name, which may contain further elements. */
export function readElements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([\\s\\S]*?)</${name}>`, 'g'))].map(([, text = '']) => text);
}

/** The text of the first element of a name, without escapes; null without one. */
export function readElement(xml: string, name: string): string | null {
  const text = readElements(xml, name)[0];
  return text === undefined
    ? null
    : text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => entities[entity] ?? '');
}
