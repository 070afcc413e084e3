/**
 * The hash chain of the audit journal: the hash of each entry covers the previous hash and its own content. Both ends of the
 * chain have an HMAC under a key that is derived from APP_KEY. Without that key, rewriting or truncating the chain is
 * detectable.
 */
import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuditContent, AuditRow, ChainEnds, ChainName } from '../database/audit-rows.ts';

/** The hash of an entry at its position. @param previousHash of the entry before; empty for the first one. */
export function computeEntryHash(
  previousHash: string,
  chain: ChainName,
  { id, place, ...entry }: AuditContent & Pick<AuditRow, 'id' | 'place'>,
): string {
  const { at, actor, credential, role, action, target, outcome, code, address, requestId, count } = entry;
  const content = [at, actor, credential, role, action, target, outcome, code, address, requestId, count];
  return hash('sha256', JSON.stringify([previousHash, chain, place, id, ...content]));
}

export const emptyEnds: Omit<ChainEnds, 'seal' | 'anchorSeal'> = {
  place: 0,
  lastId: 0,
  hash: '',
  anchorPlace: 0,
  anchorHash: '',
};

/** Signs the ends of an application's chains. */
export class ChainSigner {
  readonly #application: string;
  readonly #keys: readonly Buffer[];

  /** @param appKeys the current APP_KEY, then the previous one during a rotation. */
  constructor(application: string, appKeys: readonly string[]) {
    this.#application = application;
    this.#keys = appKeys.map((each) => Buffer.from(hkdfSync('sha256', each, '', 'tablinum audit seal', 32)));
  }

  /** The ends, with both signed under the current key. */
  sign(chain: ChainName, ends: Omit<ChainEnds, 'seal' | 'anchorSeal'>): ChainEnds {
    return {
      ...ends,
      seal: this.#sign(this.#currentKey, formatEnd(chain, ends)).toString('base64url'),
      anchorSeal: this.#sign(this.#currentKey, formatAnchor(chain, ends)).toString('base64url'),
    };
  }

  isEndValid(chain: ChainName, ends: ChainEnds): boolean {
    return this.#isSignatureValid(formatEnd(chain, ends), ends.seal);
  }

  isAnchorValid(chain: ChainName, ends: ChainEnds): boolean {
    return this.#isSignatureValid(formatAnchor(chain, ends), ends.anchorSeal);
  }

  #isSignatureValid(text: string, seal: string): boolean {
    const givenSignature = Buffer.from(seal, 'base64url');
    return this.#keys.some((key) => {
      const expectedSignature = this.#sign(key, text);
      return givenSignature.length === expectedSignature.length && timingSafeEqual(givenSignature, expectedSignature);
    });
  }

  get #currentKey(): Buffer {
    const [key] = this.#keys;
    if (!key) throw new Error('A chain signer needs at least one key.');
    return key;
  }

  #sign(key: Buffer, text: string): Buffer {
    return createHmac('sha256', key).update(`${this.#application}\n${text}`).digest();
  }
}

/**
 * A replacement for the previous hash after an end with an invalid signature. The chain continues, but never verifies at this
 * point, so that tampering stays detectable.
 */
export function makeBrokenHash(): string {
  return `broken ${randomBytes(16).toString('hex')}`;
}

function formatEnd(chain: ChainName, { place, lastId, hash }: Pick<ChainEnds, 'place' | 'lastId' | 'hash'>): string {
  return `end ${chain} ${place} ${lastId} ${hash}`;
}

function formatAnchor(chain: ChainName, ends: Pick<ChainEnds, 'anchorPlace' | 'anchorHash'>): string {
  return `anchor ${chain} ${ends.anchorPlace} ${ends.anchorHash}`;
}
