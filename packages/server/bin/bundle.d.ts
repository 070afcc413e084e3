export const bundle: { readonly folder: string; readonly lastFile: string; readonly sources: readonly string[] };
export function isBuilt(file: string, sources: readonly string[]): boolean;
