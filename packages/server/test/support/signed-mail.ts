import { generateKeyPairSync } from 'node:crypto';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import type { MapResolver } from './map-resolver.ts';

/** A key that signs messages of a domain, and the TXT record that publishes it. */
export interface SigningKey {
  readonly domain: string;
  readonly selector: string;
  readonly privateKey: string;
  readonly name: string;
  readonly record: string;
}

export function createSigningKey(domain: string, { bits = 2048, selector = 'key' } = {}): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const record = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`;
  return { domain, selector, privateKey, name: `${selector}._domainkey.${domain}`, record };
}

/** Creates a key and adds its record to a resolver. */
export function publishKey(
  dns: MapResolver,
  domain: string,
  options?: { bits?: number; selector?: string },
): SigningKey {
  const key = createSigningKey(domain, options);
  dns.addTexts(key.name, key.record);
  return key;
}

/** The message with a signature on top. */
export async function sign(
  raw: string,
  { domain, selector, privateKey }: SigningKey,
  options: { maxBodyLength?: number; expires?: Date; canonicalization?: string } = {},
): Promise<string> {
  const { signatures, errors } = await dkimSign(Buffer.from(raw), {
    canonicalization: options.canonicalization ?? 'relaxed/relaxed',
    signTime: new Date(),
    ...(options.expires && { expires: options.expires }),
    signatureData: [
      {
        signingDomain: domain,
        selector,
        privateKey,
        ...(options.maxBodyLength !== undefined && { maxBodyLength: options.maxBodyLength }),
      },
    ],
  } as never);
  if (errors.length > 0) throw errors[0]?.err;
  return signatures + raw;
}
