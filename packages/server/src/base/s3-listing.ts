/** Lists the objects and the incomplete uploads of a bucket whose keys begin with a prefix. */
import { nullIfMissing, type S3Client, S3Fault } from './s3-client.ts';
import { runForEach } from './s3-upload.ts';
import { readElement, readElements } from './s3-xml.ts';

export interface ListedKey {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

export interface ListedUpload extends ListedKey {
  readonly uploadId: string;
}

const removalsAtOnce = 16;

/** The objects whose keys begin with a text. */
export async function* listKeys(client: S3Client, prefix: string): AsyncGenerator<ListedKey> {
  for await (const page of listPages(client, { prefix }))
    for (const each of readElements(page, 'Contents'))
      yield { key: requireText(each, 'Key'), storedAt: Date.parse(requireText(each, 'LastModified')) };
}

/** The incomplete uploads whose keys begin with a text. */
export async function* listUploads(client: S3Client, prefix: string): AsyncGenerator<ListedUpload> {
  for (let more: Record<string, string> | null = {}; more; ) {
    const query: Record<string, string> = { uploads: '', prefix, ...more };
    const { text } = await client.request({ method: 'GET', key: '', query });
    for (const each of readElements(text, 'Upload'))
      yield {
        key: requireText(each, 'Key'),
        uploadId: requireText(each, 'UploadId'),
        storedAt: Date.parse(requireText(each, 'Initiated')),
      };
    more =
      readElement(text, 'IsTruncated') === 'true'
        ? {
            'key-marker': requireText(text, 'NextKeyMarker'),
            'upload-id-marker': requireText(text, 'NextUploadIdMarker'),
          }
        : null;
  }
}

/** The names of the objects and folders in a folder. */
export interface ListedFolder {
  readonly objects: ReadonlySet<string>;
  /** Includes folders that only contain incomplete uploads. */
  readonly folders: ReadonlySet<string>;
}

/** Lists a folder without the content of its subfolders. @param folder empty, or ends with a slash. */
export async function listFolder(client: S3Client, folder: string): Promise<ListedFolder> {
  const folders = new Set<string>();
  const objects = await listObjects(client, folder, folders);
  for await (const { key } of listUploads(client, folder)) {
    const [name = '', ...rest] = key.slice(folder.length).split('/');
    if (rest.length > 0) folders.add(name);
  }
  return { objects, folders };
}

/** The names of the objects in a folder. @param folders receives the names of subfolders that contain objects. */
export async function listObjects(
  client: S3Client,
  folder: string,
  folders: Set<string> = new Set(),
): Promise<Set<string>> {
  const objects = new Set<string>();
  for await (const page of listPages(client, { prefix: folder, delimiter: '/' })) {
    for (const each of readElements(page, 'CommonPrefixes'))
      folders.add(requireText(each, 'Prefix').slice(folder.length, -1));
    for (const each of readElements(page, 'Contents')) objects.add(requireText(each, 'Key').slice(folder.length));
  }
  return objects;
}

/** The folders in a folder whose names are whole numbers. */
export async function listScopes(client: S3Client, folder: string): Promise<number[]> {
  const { folders } = await listFolder(client, folder);
  return [...folders].filter((name) => /^-?\d+$/.test(name)).map(Number);
}

/** Removes all objects and uploads whose keys begin with a text. */
export async function removeAll(client: S3Client, prefix: string): Promise<void> {
  for await (const { key, uploadId } of listUploads(client, prefix))
    await client.request({ method: 'DELETE', key, query: { uploadId } }).catch(nullIfMissing);
  for await (const page of listPages(client, { prefix })) {
    const keys = readElements(page, 'Contents').map((each) => requireText(each, 'Key'));
    await runForEach(keys, removalsAtOnce, (key) => client.request({ method: 'DELETE', key }).catch(nullIfMissing));
  }
}

/** Replies of up to 1,000 keys. */
async function* listPages(client: S3Client, query: Readonly<Record<string, string>>): AsyncGenerator<string> {
  for (let more: Record<string, string> | null = {}; more; ) {
    const { text }: { text: string } = await client.request({
      method: 'GET',
      key: '',
      query: { 'list-type': '2', ...query, ...more },
    });
    yield text;
    more =
      readElement(text, 'IsTruncated') === 'true'
        ? { 'continuation-token': requireText(text, 'NextContinuationToken') }
        : null;
  }
}

function requireText(xml: string, name: string): string {
  const text = readElement(xml, name);
  if (text === null) throw new S3Fault(`${name}Missing`);
  return text;
}
