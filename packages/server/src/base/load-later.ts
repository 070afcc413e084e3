import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/**
 * Returns a function that loads a library when it is first called, for libraries that many servers never need, or not before their
 * first write. Code that can wait uses `import()`.
 *
 *     const loadAjv = loadLater<typeof import('ajv/dist/2020.js')>('ajv/dist/2020.js');
 */
export function loadLater<Library>(name: string): () => Library {
  let loaded: Library | null = null;
  return () => {
    loaded ??= load(name) as Library;
    return loaded;
  };
}
