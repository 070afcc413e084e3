/** The settings of buckets of S3-compatible services: one for files, and one for backups. */
import { ConfigError, defineSetting, parseChoice, type Setting } from './setting.ts';

/** The beginning of the names of all settings of a bucket. */
export type S3SettingGroup = 'FILES_S3' | 'BACKUP_S3';

/** Scheme, host and port of a service. A plain object, so that it can be sent to a thread or process. */
export type S3Endpoint = Readonly<Pick<URL, 'protocol' | 'host' | 'hostname' | 'port' | 'origin'>>;

/** A bucket, and how it is reached. */
export interface S3Config {
  /** The settings from which it was read, for messages. */
  readonly settings: S3SettingGroup;
  readonly endpoint: S3Endpoint;
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

/** Defines the settings that all buckets have. @param use the purpose of the bucket, and what happens without it. */
export const defineBucket = (group: S3SettingGroup, use: string): readonly Setting[] => [
  defineSetting(`${group}_BUCKET`, '', `Bucket of an S3-compatible service for ${use}`),
  defineSetting(`${group}_ENDPOINT`, '', 'Address of the service, such as https://s3.example.com; empty: Amazon S3.'),
  defineSetting(`${group}_REGION`, 'us-east-1', 'Region of the bucket.'),
  defineSetting(`${group}_ACCESS_KEY_ID`, '', 'Access key of the service.'),
  defineSetting(`${group}_SECRET_ACCESS_KEY`, '', `The secret of ${group}_ACCESS_KEY_ID.`, true),
  defineSetting(
    `${group}_PREFIX`,
    '',
    'Beginning of all keys in the bucket, such as tablinum/. Servers with different data need different prefixes.',
  ),
  defineSetting(
    `${group}_FORCE_PATH_STYLE`,
    'auto',
    `on: the bucket is in the path of addresses; off: in the host name; auto: on if ${group}_ENDPOINT is set.`,
  ),
];

/** Every environment variable about the bucket of files that the server reads. */
export const s3Settings: readonly Setting[] = [
  ...defineBucket('FILES_S3', 'the bytes of files and e-mails; empty: `DATA_DIR` or PostgreSQL.'),
  defineSetting(
    'FILES_S3_REMOVE',
    'on',
    'on or off. off: this server removes nothing from the bucket. Use off for a server on a copy of the data.',
  ),
];

/** Reads the settings of the bucket of files. @returns null if no bucket is set. @throws ConfigError like {@link readBucket}. */
export function readS3Config(read: (name: string) => string): S3Config | null {
  const removes = parseChoice('FILES_S3_REMOVE', read('FILES_S3_REMOVE'), ['on', 'off']) === 'on';
  const bucket = readBucket('FILES_S3', read);
  return bucket && { ...bucket, removes };
}

/**
 * Reads the settings of a bucket.
 *
 * @param read the value of a setting, empty if it is not set.
 * @returns null if no bucket is set.
 * @throws ConfigError naming the setting and the cure.
 */
export function readBucket(group: S3SettingGroup, read: (name: string) => string): S3Config | null {
  const style = `${group}_FORCE_PATH_STYLE`;
  const pathStyle = parseChoice(style, read(style), ['auto', 'on', 'off']);
  const bucket = read(`${group}_BUCKET`);
  if (bucket === '') {
    const other = ['ENDPOINT', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'PREFIX']
      .map((name) => `${group}_${name}`)
      .find((name) => read(name) !== '');
    if (other !== undefined) throw new ConfigError(`${group}_BUCKET is missing. ${other} is only used with it.`);
    return null;
  }
  if (!isBucketName(bucket))
    throw new ConfigError(
      `${group}_BUCKET must be the name of a bucket, such as my-files: 3 to 63 letters, digits, dots and hyphens.`,
    );
  const required = (name: string): string => {
    const text = read(name);
    if (text === '') throw new ConfigError(`${name} is missing. If ${group}_BUCKET is set, ${name} must be set too.`);
    return text;
  };
  const region = read(`${group}_REGION`);
  if (!/^[a-z0-9-]{1,60}$/i.test(region)) throw new ConfigError(`${group}_REGION must look like eu-central-1.`);
  const endpoint = read(`${group}_ENDPOINT`);
  return {
    settings: group,
    endpoint: parseEndpoint(group, endpoint || `https://s3.${region}.amazonaws.com`),
    region,
    bucket,
    prefix: parsePrefix(group, read(`${group}_PREFIX`)),
    accessKeyId: required(`${group}_ACCESS_KEY_ID`),
    secretAccessKey: required(`${group}_SECRET_ACCESS_KEY`),
    pathStyle: pathStyle === 'auto' ? endpoint !== '' : pathStyle === 'on',
    removes: true,
  };
}

export const isBucketName = (text: string): boolean => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/i.test(text);

function parseEndpoint(group: S3SettingGroup, text: string): S3Endpoint {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw new ConfigError(
      `${group}_ENDPOINT must look like https://s3.example.com, without the bucket and without a path.`,
    );
  if (url.username !== '' || url.password !== '')
    throw new ConfigError(
      `${group}_ENDPOINT must not contain a user name or password. Set ${group}_ACCESS_KEY_ID and ${group}_SECRET_ACCESS_KEY.`,
    );
  const { protocol, host, hostname, port, origin } = url;
  return { protocol, host, hostname, port, origin };
}

/** Only characters that are the same in a key, in an address and in a signature. */
export const isPrefix = (text: string): boolean => /^(?:[a-z0-9_-][a-z0-9._-]*\/)+$/i.test(text) && text.length <= 200;

function parsePrefix(group: S3SettingGroup, text: string): string {
  if (text === '') return '';
  const prefix = text.endsWith('/') ? text : `${text}/`;
  if (!isPrefix(prefix))
    throw new ConfigError(
      `${group}_PREFIX must look like tablinum/ or team/tablinum/: letters, digits, dots, hyphens and underscores between slashes.`,
    );
  return prefix;
}
