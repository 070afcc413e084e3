const schemes = new Set(['http:', 'https:', 'mailto:', 'tel:']);
const maxLength = 8 * 1024;

/**
 * Normalises the address of a link as browsers do, so that all programs read it in the same way. Null for addresses
 * that may not be followed: other schemes, relative addresses (they would lead to pages of the web interface), and
 * invalid ones.
 */
export function toSafeUrl(written: string): string | null {
  if (written.length > maxLength) return null;
  const address = parseUrl(written);
  return address && schemes.has(address.protocol) && address.href.length <= maxLength * 3 ? address.href : null;
}

/** The address of a remote image; null for any other text. */
export function toRemoteUrl(written: string): string | null {
  const address = toSafeUrl(written);
  return address && /^https?:/.test(address) ? address : null;
}

function parseUrl(written: string): URL | null {
  const text = written.trim();
  return URL.parse(text.startsWith('//') ? `https:${text}` : text);
}

/** File names that look like domains. */
const fileEndings = new Set(
  'pdf doc docx xls xlsx ppt pptx odt ods zip gz tar rar png jpg jpeg gif webp svg txt csv htm html xml json js ts css md py sh exe ics eml mp3 mp4 php asp aspx jsp net'
    .split(' ')
    .filter((each) => each !== 'net'),
);

/**
 * Whether the text of a link shows one domain and its address leads to another: `www.bank.example` that leads to
 * `bank.example.net`. Subdomains of one domain do not count as different.
 */
export function isMismatchedLink(text: string, address: string): boolean {
  const displayed = parseDisplayedDomain(text);
  const real = /^mailto:/i.test(address) ? parseMailtoDomain(address) : (URL.parse(address)?.hostname ?? null);
  if (displayed === null || !real) return false;
  return baseDomain(displayed) !== baseDomain(real);
}

function parseDisplayedDomain(text: string): string | null {
  const candidate = text
    .normalize('NFKC')
    .replace(/[\u200b-\u200d\u2060\ufeff\u00ad]/g, '')
    .trim();
  if (candidate.length > 500 || /\s/.test(candidate)) return null;
  const match =
    /^(https?:\/\/|www\.)?(?:[^\s/@]{1,64}@)?((?:[\p{L}\p{N}_-]{1,63}\.){1,10}\p{L}[\p{L}\p{N}-]{1,62})\.?(?::\d{1,5})?(?:[/?#]|$)/iu.exec(
      candidate,
    );
  const domain = match && URL.parse(`http://${match[1]?.toLowerCase() === 'www.' ? 'www.' : ''}${match[2]}/`)?.hostname;
  if (!domain) return null;
  const ending = domain.slice(domain.lastIndexOf('.') + 1);
  return match[1] === undefined && fileEndings.has(ending) ? null : domain;
}

const parseMailtoDomain = (address: string): string | null =>
  URL.parse(
    `http://${decodeOrEmpty(address.replace(/^mailto:/i, '').split('?')[0] ?? '')
      .split('@')
      .pop()}/`,
  )?.hostname ?? null;

function decodeOrEmpty(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/**
 * The domain that one owner registers: two labels, or three below `co.uk` and similar endings. This approximation is
 * sufficient for a warning, and needs no list of public suffixes.
 */
export function baseDomain(domain: string): string {
  const labels = domain.toLowerCase().replace(/\.$/, '').split('.');
  const [second, top] = labels.slice(-2);
  const threefold =
    labels.length > 2 && top?.length === 2 && /^(co|com|org|net|ac|gov|edu|or|ne|go|gob|gouv)$/.test(second ?? '');
  return labels.slice(threefold ? -3 : -2).join('.');
}
