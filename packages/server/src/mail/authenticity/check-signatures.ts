/** Checks the DKIM signatures and ARC seals of a raw message. Runs in a thread of `ParsePool`: hostile messages take time and memory. */
import type { ARCData, ARCResult, DKIMResult, DNSResolver } from 'mailauth';
import { isObject } from '../../protocol/json-text.ts';
import { readHeaders } from '../parse/header-block.ts';
import { prepareSignedMessage } from './limit-signatures.ts';
import {
  type ChainResult,
  type KeyAnswer,
  type SignatureReport,
  type SignatureRequest,
  type SignatureResult,
  traceNames,
} from './signature-report.ts';

const maxTraceHeaders = 30;
const maxTraceLength = 4096;
const maxReasonLength = 200;
const maxFromAddresses = 100;

/** The report about a message. The promise never rejects because of the content of a message. */
export async function checkSignatures(request: SignatureRequest): Promise<SignatureReport> {
  const { headers } = readHeaders(request.raw);
  const trace = headers
    .filter(({ name }) => traceNames.has(name.toLowerCase()))
    .slice(0, maxTraceHeaders)
    .map(({ name, raw }) => [name.toLowerCase(), raw.slice(0, maxTraceLength)] as const);
  // Loaded when first needed: the library costs start-up time and memory.
  const [{ dkimVerify }, { arc }] = await Promise.all([
    import('mailauth/lib/dkim/verify.js'),
    import('mailauth/lib/arc/index.js'),
  ]);
  const resolver = createKeyResolver(request.keys);
  const message = prepareSignedMessage(request.raw, request.senderDomain);
  const verified = await dkimVerify(message, { resolver, rejectRsaSha1: true });
  // The declarations of the library do not allow what its functions pass to each other.
  const chain = verified.arc ? await arc(verified.arc as ARCData, { resolver }) : null;
  return {
    dkim: verified.results.filter(({ signingDomain }) => signingDomain).map(toSignatureResult),
    arc: chain ? toChainResult(chain) : null,
    from: verified.headerFrom.slice(0, maxFromAddresses),
    fromHeaders: verified.fromFields,
    trace,
  };
}

function createKeyResolver(keys: Readonly<Record<string, KeyAnswer>>): DNSResolver {
  return async (name) => {
    const key = name.toLowerCase();
    const answer = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (answer && 'records' in answer) return answer.records.map((each) => [...each]);
    throw Object.assign(new Error('no record'), { code: answer?.code ?? 'ENOTFOUND' });
  };
}

function toSignatureResult({ status, signingDomain }: DKIMResult): SignatureResult {
  const domain = signingDomain?.toLowerCase().slice(0, 253) ?? null;
  const comment = typeof status.comment === 'string' ? status.comment.slice(0, maxReasonLength) : null;
  // Bytes after the signed part may have been added by anybody.
  if (status.result === 'pass' && status.underSized)
    return { result: 'policy', domain, reason: 'Only the beginning of the message is signed.' };
  if (status.result === 'neutral' && comment === 'body hash did not verify')
    return { result: 'fail', domain, reason: 'The message was changed after it was signed.' };
  return { result: status.result, domain, reason: describeReason(status.result, comment, status.policy) };
}

/** The reasons of the library in sentences, as far as they are known. */
const reasons: Readonly<Record<string, string>> = {
  'bad signature': 'The headers were changed after they were signed, or the signature is forged.',
  expired: 'The signature has expired.',
  'invalid expiration': 'The signature expires before its own date.',
  'no key': 'The domain publishes no key for the signature.',
  'weak algorithm': 'The signature uses SHA-1, which is not secure.',
  'From field not signed': 'The signature does not cover the sender.',
};

function describeReason(result: string, comment: string | null, policy: unknown): string | null {
  if (result === 'pass') return null;
  if (JSON.stringify(policy ?? {}).includes('weak-key')) return 'The key of the signature is too short.';
  return comment === null ? null : (reasons[comment] ?? comment);
}

function toChainResult({ status, signature, authenticationResults }: ARCResult): ChainResult {
  const comment = typeof status.comment === 'string' ? status.comment.slice(0, maxReasonLength) : null;
  const domain = signature ? (signature.signingDomain?.toLowerCase().slice(0, 253) ?? null) : null;
  const isPassed = status.result === 'pass';
  const dmarc: unknown = isPassed ? authenticationResults?.['dmarc'] : null;
  return { result: status.result, domain, reason: isPassed ? null : comment, confirmedDomain: readConfirmed(dmarc) };
}

/** @param dmarc `{result, header: {from}}`, as the library reads it from a header. */
function readConfirmed(dmarc: unknown): string | null {
  if (!isObject(dmarc) || dmarc['result'] !== 'pass' || !isObject(dmarc['header'])) return null;
  const { from } = dmarc['header'];
  return typeof from === 'string' ? from.toLowerCase().slice(0, 253) : null;
}
