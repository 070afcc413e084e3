/** The address of a link in a message, or null for a text that is none. Addresses without a scheme get one. */
export function toLinkAddress(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 2000 || /[\p{Cc}\s]/u.test(trimmed)) return null;
  if (/^(?:https?:\/\/|mailto:|tel:)./i.test(trimmed)) return URL.canParse(trimmed) ? trimmed : null;
  if (/^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !/^[\w.-]+:\d+(?:\/|$)/.test(trimmed)) return null;
  if (/^[^\s@/]+@[^\s@/]+\.[^\s@/]+$/.test(trimmed)) return `mailto:${trimmed}`;
  const address = `https://${trimmed}`;
  return /^[^/?#]+\.[^/?#]+/.test(trimmed) && URL.canParse(address) ? address : null;
}
