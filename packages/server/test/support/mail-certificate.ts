import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A server certificate with its key, all in PEM. */
export interface MailCertificate {
  readonly key: string;
  readonly cert: string;
  /** The certificate of the authority that signed `cert`: what a client must trust. */
  readonly ca: string;
}

/** The names in the certificates of test servers, unless a test needs others. */
export const certificateNames = ['DNS:localhost', 'DNS:mail.example.test', 'IP:127.0.0.1'];

let shared: MailCertificate | undefined;

/** The shared certificate of test servers that do not need their own, because making one starts openssl three times. */
export function getSharedCertificate(): MailCertificate {
  shared ??= makeCertificate();
  return shared;
}

/**
 * Makes an authority and a server certificate signed by it, with openssl and elliptic curve keys.
 *
 * @param names as openssl writes subject alternative names.
 * @param days validity; negative for a certificate that has expired.
 */
export function makeCertificate(names: readonly string[] = certificateNames, days = 30): MailCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-certificate-'));
  const openssl = (...args: string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    openssl('req', '-x509', ...newKey, '-days', '30', '-subj', '/CN=Test authority', '-keyout', 'ca.key', '-out', 'ca');
    openssl('req', ...newKey, '-subj', '/CN=Test mail server', '-keyout', 'key', '-out', 'request');
    writeFileSync(join(folder, 'names'), `subjectAltName=${names.join(',')}\n`);
    const authority = ['-CA', 'ca', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
    openssl('x509', '-req', '-in', 'request', ...authority, '-days', String(days), '-out', 'cert');
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    return { key: read('key'), cert: read('cert'), ca: read('ca') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
