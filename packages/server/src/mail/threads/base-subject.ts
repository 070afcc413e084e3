const maxLength = 1000;

/** Prefixes of replies and forwarded messages, in the languages of common programs, in lower case and NFKC. */
const prefixes = new Set(
  `re fw fwd aw antw antwort wg wtr sv vs vb vl tr rv res enc odp pd atb bls rif r i ref ynt i̇lt ilt vá továb hl απ πρθ отв ответ пересл на
  trs doorst 回复 答复 转发 回覆 轉寄 返信 転送 답장 전달 الرد رد תשובה הועבר`.split(/\s+/),
);

/**
 * Removes what replying and forwarding add to a subject. Messages with the same base subject can belong to one
 * conversation. This follows RFC 5256, section 2.1, and also handles prefixes of other languages (`AW:`, `回复：`),
 * counted prefixes (`Re[2]:`), NFKC and case. `Re: [list] Fwd: Hello (fwd)` becomes `hello`.
 *
 * The tag of a mailing list is removed if other text remains. Only the first 1,000 code units are read.
 */
export function baseSubject(subject: string): string {
  return stripSubject(subject).base;
}

/** Whether a subject has the prefix of a reply or of a forwarded message. */
export function isReply(subject: string): boolean {
  return stripSubject(subject).reply;
}

function stripSubject(subject: string): { readonly base: string; readonly reply: boolean } {
  let base = tidy(subject.slice(0, maxLength).normalize('NFKC').slice(0, maxLength).toLowerCase().normalize('NFKC'));
  let reply = false;
  for (;;) {
    const trailer = withoutTrailer(base);
    const prefix = withoutPrefix(trailer);
    const wrapped = prefix === trailer ? withoutWrapper(trailer) : prefix;
    reply ||= trailer !== base || prefix !== trailer || wrapped !== prefix;
    const next = wrapped === trailer ? withoutTag(trailer) : wrapped;
    if (next === base) return { base: base.toWellFormed(), reply };
    base = next;
  }
}

const tidy = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();

const withoutTrailer = (text: string): string => (text.endsWith('(fwd)') ? text.slice(0, -5).trimEnd() : text);

/** `re:`, `re[2]:`, `re (3):`, `re^2:`, also behind tags: `[list] re:`. */
function withoutPrefix(text: string): string {
  const match = /^((?:\[[^[\]]*\]\s*)*)([\p{L}\p{M}]{1,8})\s?(?:\[[^[\]]*\]|\(\d{1,3}\)|\^\d{1,3})?\s?:\s*/u.exec(text);
  return match && prefixes.has(match[2] ?? '') ? text.slice(match[0].length) : text;
}

function withoutWrapper(text: string): string {
  return text.startsWith('[fwd:') && text.endsWith(']') ? text.slice(5, -1).trim() : text;
}

function withoutTag(text: string): string {
  const tag = /^\[[^[\]]*\]\s*/.exec(text)?.[0];
  return tag && tag.length < text.length ? text.slice(tag.length) : text;
}
