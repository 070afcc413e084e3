/**
 * The hash chain of the audit journal: each entry's hash covers the former one and its own content. Both ends of the
 * chain carry a seal, an HMAC under a key derived from APP_KEY, so that who holds the store alone can neither rewrite the
 * chain, nor cut it at its end or beginning, unnoticed.
 */
import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuditContent, AuditRow, ChainEnds, ChainName } from '../database/audit-rows.ts';

/** Of an entry in its place, after the hash of the one before it (empty for the first). */
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

  /** @param appKeys the current APP_KEY, then the former one where a rotation runs. */
  constructor(application: string, appKeys: readonly string[]) {
    this.#application = application;
    this.#keys = appKeys.map((each) => Buffer.from(hkdfSync('sha256', each, '', 'tablinum audit seal', 32)));
  }

  /** The ends with both seals made anew under the current key. */
  sign(chain: ChainName, ends: Omit<ChainEnds, 'seal' | 'anchorSeal'>): ChainEnds {
    return {
      ...ends,
      seal: this.#sign(0, formatEnd(chain, ends)).toString('base64url'),
      anchorSeal: this.#sign(0, formatAnchor(chain, ends)).toString('base64url'),
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
    return this.#keys.some((_, index) => {
      const expectedSignature = this.#sign(index, text);
      return givenSignature.length === expectedSignature.length && timingSafeEqual(givenSignature, expectedSignature);
    });
  }

  #sign(key: number, text: string): Buffer {
    return createHmac('sha256', this.#keys[key]!).update(`${this.#application}\n${text}`).digest();
  }
}

/**
 * What stands for the former hash after an end whose seal does not hold. Whatever was there before is never taken over
 * as if it were whole: the chain is broken here for good, and goes on.
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
