/** Loads the rich text editor, which is a chunk of its own: lists and conversations are shown without it. */
import { useEffect, useState } from 'react';

type EditorModule = typeof import('./editor/rich-text-editor.tsx');

/** After a failure, the next call loads it again. */
export function loadEditor(): Promise<EditorModule> {
  return import('./editor/rich-text-editor.tsx');
}

let loaded: EditorModule | null = null;

export interface LoadedEditor {
  /** Null while it is loading. */
  readonly module: EditorModule | null;
  readonly error: Error | null;
  readonly retry: () => void;
}

export function useEditorModule(): LoadedEditor {
  const [module, setModule] = useState(loaded);
  const [error, setError] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt loads it again
  useEffect(() => {
    if (module !== null) return;
    let isCurrent = true;
    loadEditor().then(
      (found) => {
        loaded = found;
        if (isCurrent) setModule(found);
      },
      (reason: unknown) => {
        if (isCurrent) setError(reason as Error);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [module, attempt]);
  const retry = (): void => {
    setError(null);
    setAttempt(attempt + 1);
  };
  return { module, error, retry };
}
