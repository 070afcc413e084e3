/** What the page's policy asks of scripts: a nonce on styles, and texts that become markup pass one rule. */

interface PolicyFactory {
  createPolicy(name: string, rules: { createHTML(text: string): string }): unknown;
}

/** The nonce of this reply, for styles that components make; none while the page is worked on. */
export function pageNonce(): string | null {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce;
  if (nonce) (globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = nonce; // where libraries look for it
  return nonce || null;
}

/**
 * Trusted Types: a text set as markup may be a style sheet, and nothing that holds a tag. Mails, which do, pass DOMPurify's
 * own policy.
 */
export function restrictMarkup(): void {
  const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };
  trustedTypes?.createPolicy('default', {
    createHTML: (text) => {
      if (text.includes('<')) throw new TypeError('Markup is made by components alone.');
      return text;
    },
  });
}
