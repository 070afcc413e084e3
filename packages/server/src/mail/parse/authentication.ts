export type Authentication = Readonly<Record<'spf' | 'dkim' | 'dmarc', string | null>>;

const results = ['none', 'pass', 'fail', 'softfail', 'policy', 'neutral', 'temperror', 'permerror', 'bestguesspass'];

/**
 * What the receiving server says (RFC 8601). Each server puts its header above those that stand already, so the topmost is the one
 * nearest to us; those below came with the message, and say what its sender likes. Several signatures: a passed one counts.
 */
export function readAuthentication(values: readonly string[]): Authentication | null {
  const [topmost] = values;
  if (topmost === undefined) return null;
  const verdicts: Record<keyof Authentication, string | null> = { spf: null, dkim: null, dmarc: null };
  for (const part of withoutComments(topmost).split(';')) {
    const match = /^\s*(spf|dkim|dmarc)\s*(?:\/\s*\d+\s*)?=\s*([a-z]+)/i.exec(part);
    if (!match) continue;
    const [, name = '', value = ''] = match;
    const method = name.toLowerCase() as keyof Authentication;
    const result = value.toLowerCase();
    if (results.includes(result) && verdicts[method] !== 'pass') verdicts[method] = result;
  }
  return verdicts.spf === null && verdicts.dkim === null && verdicts.dmarc === null ? null : verdicts;
}

/** Comments are free text: `(dkim=pass)` in one says nothing. They nest. */
function withoutComments(value: string): string {
  let depth = 0;
  let text = '';
  for (const character of value) {
    if (character === '(') depth += 1;
    else if (character === ')') depth = Math.max(0, depth - 1);
    else if (depth === 0) text += character;
  }
  return text;
}
