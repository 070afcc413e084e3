/** Escapes text for CommonMark, the format of OpenAPI descriptions, so that tags, links and images stay plain text. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[<[\\]/g, '\\$&');
}
