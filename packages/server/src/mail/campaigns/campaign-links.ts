/** The addresses in the message of one recipient: to unsubscribe, and, only if the campaign counts that, of links and of an image. */
import { makeCampaignToken, type TokenCipher, type TokenPurpose } from './campaign-token.ts';

/** Makes the addresses for recipients; null: the server does not know its own address. */
export interface CampaignAddresses {
  readonly cipher: TokenCipher;
  readonly application: string;
  readonly publicUrl: string | null;
}

/** What a campaign counts besides outcomes. */
export interface CampaignTracking {
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
}

/** Makes the addresses for one recipient. */
export interface RecipientLinks {
  /** Empty: there is none, as in a test message. */
  readonly unsubscribeUrl: string;
  /** The address of the image that is loaded when the message is opened; null: that is not counted. */
  readonly openUrl: string | null;
  /** The address that counts a link and leads to it; null: links are not counted. */
  readonly toClickUrl: ((url: string) => string) | null;
}

/** The links of a message that nobody counts and from which nobody unsubscribes. */
export const noLinks: RecipientLinks = { unsubscribeUrl: '', openUrl: null, toClickUrl: null };

/** @param message the key of the recipient's message. */
export function makeRecipientLinks(
  { cipher, application, publicUrl }: CampaignAddresses,
  message: number,
  { trackOpens, trackClicks }: CampaignTracking,
): RecipientLinks {
  if (publicUrl === null) return noLinks;
  const toUrl = (path: string, purpose: TokenPurpose, text?: string): string =>
    `${publicUrl}/${path}/${makeCampaignToken(cipher, { application, message }, purpose, text)}`;
  return {
    unsubscribeUrl: toUrl('unsubscribe', 'unsubscribe'),
    openUrl: trackOpens ? toUrl('campaign-open', 'open') : null,
    toClickUrl: trackClicks ? (url) => toUrl('campaign-link', 'click', url) : null,
  };
}

const maxLinkLength = 2000;
const linkPattern = /(<a\b[^<>]{0,4000}?\shref=)(["'])(https?:\/\/[^"'<>\s]+)\2/gi;

/**
 * Adds what counts openings and clicks to the HTML of a message, with a notice for the recipient. HTML for which nothing is counted stays
 * as it is.
 */
export function addTracking(html: string, links: RecipientLinks, encode: (text: string) => string): string {
  const { openUrl, toClickUrl, unsubscribeUrl } = links;
  if (openUrl === null && toClickUrl === null) return html;
  const counted =
    toClickUrl === null
      ? html
      : html.replace(linkPattern, (whole, before: string, quote: string, address: string) => {
          const url = address.replaceAll('&amp;', '&');
          if (url === unsubscribeUrl || url.length > maxLinkLength) return whole;
          return `${before}${quote}${encode(toClickUrl(url))}${quote}`;
        });
  const facts = [
    ...(openUrl === null ? [] : ['whether this message is opened']),
    ...(toClickUrl === null ? [] : ['whether its links are followed']),
  ];
  const notice = `<p><small>The sender counts ${facts.join(', and ')}.</small></p>`;
  const image = openUrl === null ? '' : `<img src="${encode(openUrl)}" width="1" height="1" alt="">`;
  const added = `${notice}${image}`;
  const end = counted.toLowerCase().lastIndexOf('</body>');
  return end === -1 ? `${counted}\n${added}` : `${counted.slice(0, end)}${added}${counted.slice(end)}`;
}
