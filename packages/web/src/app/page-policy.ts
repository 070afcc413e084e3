/** Implements the Content-Security-Policy of the page: a nonce for styles, and a Trusted Types policy for markup. */
import { pushWorkerUrl } from '../inbox/notifications/push-device.ts';

interface PolicyFactory {
  createPolicy(
    name: string,
    rules: { createHTML(text: string): string; createScriptURL(url: string): string },
  ): unknown;
}

/** The style nonce of this page; undefined in the development server. */
export function pageNonce(): string | null {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce;
  if (nonce) (globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = nonce; // where libraries look for the nonce
  return nonce || null;
}

/**
 * Trusted Types policy: text that is set as markup may be a style sheet, but must not contain a tag. The HTML of mails
 * passes the policy of DOMPurify instead. The only script that is loaded by its address is the worker for push messages.
 */
export function restrictMarkup(): void {
  const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };
  trustedTypes?.createPolicy('default', {
    createHTML: (text) => {
      if (text.includes('<')) throw new TypeError('Markup is made by components alone.');
      return text;
    },
    createScriptURL: (url) => {
      if (url !== pushWorkerUrl) throw new TypeError('Only the worker for push messages is loaded by its address.');
      return url;
    },
  });
}
