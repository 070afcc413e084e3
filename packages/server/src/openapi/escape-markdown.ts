/** Words of a definition as CommonMark, which OpenAPI's descriptions are: what would be a tag, link or image stays text. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[<[\\]/g, '\\$&');
}
