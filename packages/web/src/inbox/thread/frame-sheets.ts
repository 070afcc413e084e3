/** What the documents of mails in frames have in common. */

/** The policy of a document that shows mail: no script, no form, and no request. */
export const mailPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src blob: data:";

/** A style sheet can only be adopted by the document whose window has created it. */
export function createSheet(frame: HTMLIFrameElement, rules: string): CSSStyleSheet {
  const world = frame.contentWindow as Window & typeof globalThis;
  const sheet = new world.CSSStyleSheet();
  sheet.replaceSync(rules);
  return sheet;
}

/** Gives an empty document of a frame its policy. */
export function applyMailPolicy(frameDocument: Document): void {
  const element = frameDocument.createElement('meta');
  element.httpEquiv = 'Content-Security-Policy';
  element.content = mailPolicy;
  frameDocument.head.replaceChildren(element);
}
