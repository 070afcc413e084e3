/** Checks at the start that the bucket can be used and has no files of other data, and describes faults of the service. */
import { nullIfMissing, type S3Client, S3Fault, textBody } from './s3-client.ts';
import type { S3Config } from './s3-config.ts';
import { StartFailure } from './start-failure.ts';

/** The object that names the data to which a prefix belongs. */
const ownerName = 'tablinum-owner';

/**
 * Checks that the bucket can be listed and written, and that the prefix belongs to this data. Otherwise the sweep of
 * one server would remove the files of the other.
 *
 * @param owner a text that is different for each set of data, and is the same for all servers on it.
 * @param mayBeNew false: a server with this data must have been started with the bucket before.
 * @throws StartFailure naming the setting and the cure.
 */
export async function claimBucket(client: S3Client, owner: string, mayBeNew = true): Promise<void> {
  const key = `${client.config.prefix}${ownerName}`;
  const found = await readOwner(client, key).catch((error: unknown) => {
    throw s3Failure(client.config, error);
  });
  if (found === null && !mayBeNew)
    throw new StartFailure(
      'No server was started with this bucket and prefix yet. Start the server with these settings first.',
    );
  // There are two names while `main` is restored.
  if (found !== null && !found.split('\n').includes(owner))
    throw new StartFailure(
      `The bucket "${client.config.bucket}" (FILES_S3_BUCKET) already contains files of other data under the prefix "${client.config.prefix}". Set FILES_S3_PREFIX to a prefix that is not in use. If these are the files of this data, which was moved to another database server, delete the object "${key}" and start again.`,
    );
}

async function readOwner(client: S3Client, key: string): Promise<string | null> {
  // A reply to HEAD has no body that names the cause of a refusal. The reply to a list request has one.
  await client.request({ method: 'GET', key: '', query: { 'list-type': '2', prefix: key, 'max-keys': '1' } });
  await client.request({ method: 'GET', key: '', query: { uploads: '', prefix: key, 'max-uploads': '1' } });
  const found = await client.request({ method: 'GET', key }).catch(nullIfMissing);
  return found ? found.text.trim() : null;
}

/** Stores in the bucket to which data the prefix belongs. @throws StartFailure if the bucket cannot be written. */
export async function markBucket(client: S3Client, owner: string): Promise<void> {
  const key = `${client.config.prefix}${ownerName}`;
  await client.request({ method: 'PUT', key, body: textBody(`${owner}\n`) }).catch((error: unknown) => {
    throw s3Failure(client.config, error);
  });
}

const causes: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist. Create it, or correct FILES_S3_BUCKET',
  InvalidBucketName: 'the service does not accept the name of the bucket. Correct FILES_S3_BUCKET',
  AccessDenied:
    'access is denied. Allow the access key to list the bucket and its uploads, and to read, write and delete objects under FILES_S3_PREFIX',
  InvalidAccessKeyId: 'the access key is unknown. Correct FILES_S3_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'the secret is wrong. Correct FILES_S3_SECRET_ACCESS_KEY',
  RequestTimeTooSkewed: 'the clock of this machine is wrong. Set it, for example by NTP',
  AuthorizationHeaderMalformed: 'the region is wrong. Correct FILES_S3_REGION',
  PermanentRedirect: 'the bucket is in another region. Correct FILES_S3_REGION and FILES_S3_ENDPOINT',
  HTTP301: 'the bucket is in another region. Correct FILES_S3_REGION and FILES_S3_ENDPOINT',
  HTTP307: 'the bucket is in another region. Correct FILES_S3_REGION and FILES_S3_ENDPOINT',
  HTTP400: 'the service does not understand the request. Check FILES_S3_ENDPOINT, for example http instead of https',
  HTTP403: 'access is denied. Check FILES_S3_ACCESS_KEY_ID and its permissions',
  HTTP404: 'the service does not know the address. Correct FILES_S3_ENDPOINT and FILES_S3_FORCE_PATH_STYLE',
  ECONNREFUSED: 'nothing listens there. Check that the service is running, and FILES_S3_ENDPOINT',
  ENOTFOUND: 'the host name is unknown. Check FILES_S3_ENDPOINT and FILES_S3_FORCE_PATH_STYLE',
  EAI_AGAIN: 'the host name cannot be looked up now',
  ETIMEDOUT: 'the service does not answer. Check FILES_S3_ENDPOINT and the firewall',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ECONNRESET: 'the connection was closed. Check whether FILES_S3_ENDPOINT needs https:// or http://',
  EPROTO: 'the service does not speak TLS. Check whether FILES_S3_ENDPOINT needs http://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the service does not speak TLS. Check whether FILES_S3_ENDPOINT needs http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the service does not speak TLS. Check whether FILES_S3_ENDPOINT needs http://',
  HPE_INVALID_CONSTANT: 'the service does not speak HTTP. Check FILES_S3_ENDPOINT',
  CERT_HAS_EXPIRED: 'the certificate of the service has expired',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate of the service is for another host name. Check FILES_S3_ENDPOINT and FILES_S3_FORCE_PATH_STYLE',
  NotImplemented: 'the service lacks a part of the S3 protocol that is needed: lists of multipart uploads',
};

const untrustedCertificate = /SELF_SIGNED|UNABLE_TO/;

/** Describes a fault of the service for the operator, with the setting to correct. */
export function describeS3Fault({ endpoint, bucket, settings }: S3Config, { code }: S3Fault): string {
  const cause = untrustedCertificate.test(code)
    ? 'the certificate of the service is not trusted. Start the server with NODE_EXTRA_CA_CERTS=<file of the authority>'
    : causes[code]?.replaceAll('FILES_S3', settings);
  const detail = cause === undefined ? code : `${cause} (${code})`;
  return `The bucket "${bucket}" at ${endpoint.origin} (${settings}_BUCKET, ${settings}_ENDPOINT) cannot be used: ${detail}.`;
}

function s3Failure(config: S3Config, error: unknown): unknown {
  return error instanceof S3Fault ? new StartFailure(describeS3Fault(config, error), { cause: error }) : error;
}
