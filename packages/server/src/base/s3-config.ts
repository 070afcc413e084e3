/** The settings of the storage of files in a bucket of an S3-compatible service. */
import { ConfigError, defineSetting, parseChoice, type Setting } from './setting.ts';

/** A bucket, and how it is reached. */
export interface S3Config {
  /** Scheme, host and port, without a path. */
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** True: the bucket is the first part of the path. False: it is a part of the host name. */
  readonly pathStyle: boolean;
  /** False: nothing is removed from the bucket. */
  readonly removes: boolean;
}

/** Every environment variable about the bucket that the server reads. */
export const s3Settings: readonly Setting[] = [
  defineSetting(
    'FILES_S3_BUCKET',
    '',
    'Bucket of an S3-compatible service for the bytes of files and e-mails; empty: `DATA_DIR` or PostgreSQL.',
  ),
  defineSetting('FILES_S3_ENDPOINT', '', 'Address of the service, such as https://s3.example.com; empty: Amazon S3.'),
  defineSetting('FILES_S3_REGION', 'us-east-1', 'Region of the bucket.'),
  defineSetting('FILES_S3_ACCESS_KEY_ID', '', 'Access key of the service.'),
  defineSetting('FILES_S3_SECRET_ACCESS_KEY', '', 'The secret of FILES_S3_ACCESS_KEY_ID.', true),
  defineSetting(
    'FILES_S3_PREFIX',
    '',
    'Beginning of all keys in the bucket, such as tablinum/. Servers with different data need different prefixes.',
  ),
  defineSetting(
    'FILES_S3_FORCE_PATH_STYLE',
    'auto',
    'on: the bucket is in the path of addresses; off: in the host name; auto: on if FILES_S3_ENDPOINT is set.',
  ),
  defineSetting(
    'FILES_S3_REMOVE',
    'on',
    'on or off. off: this server removes nothing from the bucket. Use off for a server on a copy of the data.',
  ),
];

/**
 * Reads the settings of the bucket.
 *
 * @param read the value of a setting, empty where it is not set.
 * @returns null if no bucket is set.
 * @throws ConfigError naming the setting and the cure.
 */
export function readS3Config(read: (name: string) => string): S3Config | null {
  const pathStyle = parseChoice('FILES_S3_FORCE_PATH_STYLE', read('FILES_S3_FORCE_PATH_STYLE'), ['auto', 'on', 'off']);
  const removes = parseChoice('FILES_S3_REMOVE', read('FILES_S3_REMOVE'), ['on', 'off']) === 'on';
  const bucket = read('FILES_S3_BUCKET');
  if (bucket === '') {
    const other = ['FILES_S3_ENDPOINT', 'FILES_S3_ACCESS_KEY_ID', 'FILES_S3_SECRET_ACCESS_KEY', 'FILES_S3_PREFIX'].find(
      (name) => read(name) !== '',
    );
    if (other !== undefined) throw new ConfigError(`FILES_S3_BUCKET is missing. ${other} is only used with it.`);
    return null;
  }
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/i.test(bucket))
    throw new ConfigError(
      'FILES_S3_BUCKET must be the name of a bucket, such as my-files: 3 to 63 letters, digits, dots and hyphens.',
    );
  const required = (name: string): string => {
    const text = read(name);
    if (text === '') throw new ConfigError(`${name} is missing. If FILES_S3_BUCKET is set, ${name} must be set too.`);
    return text;
  };
  const region = read('FILES_S3_REGION');
  if (!/^[a-z0-9-]{1,60}$/i.test(region)) throw new ConfigError('FILES_S3_REGION must look like eu-central-1.');
  const endpoint = read('FILES_S3_ENDPOINT');
  return {
    endpoint: parseEndpoint(endpoint || `https://s3.${region}.amazonaws.com`),
    region,
    bucket,
    prefix: parsePrefix(read('FILES_S3_PREFIX')),
    accessKeyId: required('FILES_S3_ACCESS_KEY_ID'),
    secretAccessKey: required('FILES_S3_SECRET_ACCESS_KEY'),
    pathStyle: pathStyle === 'auto' ? endpoint !== '' : pathStyle === 'on',
    removes,
  };
}

function parseEndpoint(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw new ConfigError(
      'FILES_S3_ENDPOINT must look like https://s3.example.com, without the bucket and without a path.',
    );
  if (url.username !== '' || url.password !== '')
    throw new ConfigError(
      'FILES_S3_ENDPOINT must not contain a user name or password. Set FILES_S3_ACCESS_KEY_ID and FILES_S3_SECRET_ACCESS_KEY.',
    );
  return url;
}

/** Only characters that are the same in a key, in an address and in a signature. */
function parsePrefix(text: string): string {
  if (text === '') return '';
  const prefix = text.endsWith('/') ? text : `${text}/`;
  if (!/^(?:[a-z0-9_-][a-z0-9._-]*\/)+$/i.test(prefix) || prefix.length > 200)
    throw new ConfigError(
      'FILES_S3_PREFIX must look like tablinum/ or team/tablinum/: letters, digits, dots, hyphens and underscores between slashes.',
    );
  return prefix;
}
