import { type BackupManifest, describeFiles, writeManifest } from './backup-manifest.ts';

/** Describes the files of a folder, encrypts them if there are recipients, and writes the manifest. @param recipients public keys of age. */
export async function completeManifest(
  folder: string,
  parts: Omit<BackupManifest, 'format' | 'files' | 'encryption'>,
  recipients: readonly string[],
): Promise<BackupManifest> {
  const files = await describeFiles(folder);
  let manifest: BackupManifest = { format: 1, ...parts, files };
  if (recipients.length > 0) {
    const { encryptFiles } = await import('./backup-encryption.ts');
    manifest = { ...manifest, format: 2, encryption: 'age', files: await encryptFiles(folder, files, recipients) };
  }
  await writeManifest(folder, manifest);
  return manifest;
}
