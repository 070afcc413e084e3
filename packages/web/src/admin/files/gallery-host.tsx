import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { useStore } from '../../ui/store.ts';
import { galleryState } from './gallery-state.ts';

const Gallery = lazy(async () => ({ default: (await import('./gallery.tsx')).Gallery }));

/** The open gallery. It is rendered once, next to the pages. @param path of the page: another page closes the gallery. */
export function GalleryHost({ path }: { path: string }): ReactNode {
  const open = useStore(galleryState);
  // biome-ignore lint/correctness/useExhaustiveDependencies: closed when the path changes, and for the next user
  useEffect(() => () => galleryState.set(null), [path]);
  if (!open) return null;
  return (
    <Suspense>
      <Gallery
        open={open}
        show={(index) => galleryState.set({ ...open, index })}
        close={() => galleryState.set(null)}
      />
    </Suspense>
  );
}
