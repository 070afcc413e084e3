/** The name of the product in titles: the setting PRODUCT_TITLE, or the name in the texts. */
import { useTexts } from './i18n/texts.tsx';
import { useStore, ValueStore } from './store.ts';

/** Null: the setting is not set, or not known yet. */
export const productTitle = new ValueStore<string | null>(null);

export function useProductName(): string {
  const { productName } = useTexts().common;
  return useStore(productTitle) ?? productName;
}
