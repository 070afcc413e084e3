import type { Page } from 'playwright-core';

/** Dispatches the same event as a browser when the user pastes or drops. This source runs in the page. */
const transferSource = `({ type, texts, png }) => {
  const element = document.querySelector('[role=textbox][aria-label=Text]');
  const carried = new DataTransfer();
  for (const [format, value] of Object.entries(texts)) carried.setData(format, value);
  if (png) {
    const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
    carried.items.add(new File([bytes], 'shelf.png', { type: 'image/png' }));
  }
  const options = { bubbles: true, cancelable: true };
  const { x, y } = element.getBoundingClientRect();
  element.dispatchEvent(
    type === 'paste'
      ? new ClipboardEvent('paste', { ...options, clipboardData: carried })
      : new DragEvent('drop', { ...options, dataTransfer: carried, clientX: x + 30, clientY: y + 20 }),
  );
}`;

/** Pastes or drops texts, by their media types, and a picture into the editor of a message. */
export function transferToEditor(
  page: Page,
  type: 'paste' | 'drop',
  { texts = {}, png }: { readonly texts?: Readonly<Record<string, string>>; readonly png?: string },
): Promise<void> {
  return page.evaluate(`(${transferSource})(${JSON.stringify({ type, texts, png })})`);
}
