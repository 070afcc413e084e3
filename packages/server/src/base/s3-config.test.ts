import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

const bucket = { FILES_S3_BUCKET: 'my-files', FILES_S3_ACCESS_KEY_ID: 'id', FILES_S3_SECRET_ACCESS_KEY: 'secret' };

test('without a bucket, S3 is not used', () => {
  expect(readConfig({}).s3).toBeNull();
});

test('Amazon is the default; for other services, the bucket is in the path by default', () => {
  const amazon = readConfig({ ...bucket, FILES_S3_REGION: 'eu-central-1' }).s3;
  expect(amazon?.endpoint.origin).toBe('https://s3.eu-central-1.amazonaws.com');
  expect(amazon).toMatchObject({ pathStyle: false, prefix: '', removes: true, region: 'eu-central-1' });
  const endpoint = { ...bucket, FILES_S3_ENDPOINT: 'http://minio.internal:9000', FILES_S3_PREFIX: 'team/tablinum' };
  expect(readConfig(endpoint).s3).toMatchObject({ pathStyle: true, prefix: 'team/tablinum/', region: 'us-east-1' });
  const off = { FILES_S3_FORCE_PATH_STYLE: 'off', FILES_S3_REMOVE: 'off' };
  expect(readConfig({ ...endpoint, ...off }).s3).toMatchObject({ pathStyle: false, removes: false });
});

test.each([
  [{ FILES_S3_ENDPOINT: 'https://s3.example.com' }, /^FILES_S3_BUCKET is missing/],
  [{ FILES_S3_BUCKET: 'my-files' }, /^FILES_S3_ACCESS_KEY_ID is missing/],
  [{ FILES_S3_BUCKET: 'my-files', FILES_S3_ACCESS_KEY_ID: 'id' }, /^FILES_S3_SECRET_ACCESS_KEY is missing/],
  [{ ...bucket, FILES_S3_BUCKET: 'a/b' }, /^FILES_S3_BUCKET must be/],
  [{ ...bucket, FILES_S3_ENDPOINT: 's3.example.com' }, /^FILES_S3_ENDPOINT must look like/],
  [{ ...bucket, FILES_S3_ENDPOINT: 'https://s3.example.com/my-files' }, /^FILES_S3_ENDPOINT must look like/],
  [{ ...bucket, FILES_S3_ENDPOINT: 'https://id:secret@s3.example.com' }, /^FILES_S3_ENDPOINT must not contain/],
  [{ ...bucket, FILES_S3_REGION: 'eu central' }, /^FILES_S3_REGION must look like/],
  [{ ...bucket, FILES_S3_PREFIX: '../up' }, /^FILES_S3_PREFIX must look like/],
  [{ ...bucket, FILES_S3_PREFIX: '/a' }, /^FILES_S3_PREFIX must look like/],
  [{ ...bucket, FILES_S3_FORCE_PATH_STYLE: 'yes' }, /^FILES_S3_FORCE_PATH_STYLE must be auto or on or off/],
  [{ ...bucket, FILES_S3_REMOVE: 'no' }, /^FILES_S3_REMOVE must be on or off/],
])('an invalid value is refused and names its setting: %o', (env, message) => {
  expect(() => readConfig(env as Record<string, string>)).toThrow(message);
});
