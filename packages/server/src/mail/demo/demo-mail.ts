import type { FileMessage, MailFlag } from '../files/mail-file.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { demoPdf, demoPng } from './demo-files.ts';
import { albums, customers, type DemoExchange, exchanges, newsletters, staff } from './demo-texts.ts';
import { Dice } from './dice.ts';
import { buildRawMessage, type RawContent, type RawPart } from './raw-message.ts';

export interface DemoMailOptions {
  /** The same seed gives the same bytes. */
  readonly seed: number;
  readonly count: number;
  /** When the last message was received. */
  readonly until: Date;
  /** Number of days over which the messages are spread. */
  readonly days?: number;
  /** The address of the shared inbox. */
  readonly inbox?: MailAddress;
}

const minute = 60_000;
const day = 24 * 60 * minute;
const shop: MailAddress = { name: 'Larkwell Records', address: 'hello@larkwell.example' };

/**
 * Generates realistic mail of the shared inbox of a music store, oldest first: conversations of one to eight messages in
 * several languages, some of them with attachments, newsletters, and notifications with images. Old messages are read, and
 * some are starred. All names are fictitious.
 */
export function generateDemoMail({ seed, count, until, days = 90, inbox = shop }: DemoMailOptions): FileMessage[] {
  const generator = new DemoMailGenerator(new Dice(seed), inbox, until, days);
  while (generator.messages.length < count) generator.addConversation(count - generator.messages.length);
  const sorted = generator.messages.sort(
    (a, b) => a.time - b.time || a.content.messageId.localeCompare(b.content.messageId),
  );
  const shift = sorted.length > 0 ? until.getTime() - sorted.at(-1)!.time : 0;
  return sorted.map((each) => toFile(each, shift, until));
}

interface GeneratedMessage {
  readonly time: number;
  readonly content: RawContent;
  readonly outgoing: boolean;
  readonly starred: boolean;
  /** Age in days from which a message is read. */
  readonly readAfter: number;
}

function toFile(
  { time, content, outgoing, starred, readAfter }: GeneratedMessage,
  shift: number,
  until: Date,
): FileMessage {
  const received = new Date(time + shift);
  const seen = outgoing || until.getTime() - received.getTime() > readAfter * day;
  const flags: MailFlag[] = [...(seen ? ['seen' as const] : []), ...(starred ? ['flagged' as const] : [])];
  return {
    raw: buildRawMessage({ ...content, ...replaceDayMarks(content, shift), date: received }),
    flags,
    receivedAt: received.toISOString(),
    mailbox: outgoing ? 'Sent' : 'INBOX',
  };
}

/** A placeholder for a date in a text. It is replaced when the times of all messages are known. */
const dayMark = (time: number): string => `{day ${Math.round(time)}}`;

function replaceDayMarks({ text, html }: RawContent, shift: number): Pick<RawContent, 'text' | 'html'> {
  const replaceDates = (template: string): string =>
    template.replace(/\{day (\d+)\}/g, (_, time: string) => new Date(Number(time) + shift).toISOString().slice(0, 10));
  return { text: replaceDates(text), ...(html !== undefined && { html: replaceDates(html) }) };
}

class DemoMailGenerator {
  readonly messages: GeneratedMessage[] = [];
  readonly #dice: Dice;
  readonly #inbox: MailAddress;
  readonly #from: number;
  readonly #span: number;
  #number = 0;

  constructor(dice: Dice, inbox: MailAddress, until: Date, days: number) {
    this.#dice = dice;
    this.#inbox = inbox;
    this.#span = days * day;
    this.#from = until.getTime() - this.#span;
  }

  /** @param maxMessages maximum number of messages. */
  addConversation(maxMessages: number): void {
    // Squared, so that the last weeks have more messages than the first ones.
    const start = this.#from + this.#span * (1 - this.#dice.next() ** 2);
    const kind = this.#dice.next();
    if (kind < 0.15) this.#addNewsletter(start);
    else if (kind < 0.25) this.#addNotice(start);
    else this.#addExchange(start, maxMessages);
  }

  #addExchange(start: number, maxMessages: number): void {
    const exchange = this.#dice.pick(exchanges);
    const customer = this.#customer();
    const colleague = this.#dice.pick(staff);
    const fill = this.#filler();
    const turns = exchange.turns.slice(0, Math.min(maxMessages, this.#dice.between(1, exchange.turns.length)));
    const references: string[] = [];
    let time = start;
    let quoted = '';
    for (const [turn, template] of turns.entries()) {
      const outgoing = turn % 2 === 1;
      const from = outgoing ? this.#inbox : customer;
      const ownText = fill(template).replace('{name}', outgoing ? colleague : customer.name);
      const text = quoted ? `${ownText}\n\n${quoted}` : ownText;
      const messageId = this.#messageId(from);
      this.#add(time, outgoing, {
        from,
        to: [outgoing ? customer : this.#inbox],
        subject: (turn > 0 ? exchange.reply : '') + fill(exchange.subject),
        messageId,
        references: [...references],
        text,
        ...(this.#dice.chance(0.5) ? { html: letterHtml(text, exchange) } : {}),
        parts: turn === 0 ? this.#files(exchange, fill) : [],
      });
      references.push(messageId);
      quoted = quotation(exchange, dayMark(time), from.name, ownText);
      time += this.#dice.between(20, 40 * 60) * minute;
    }
  }

  #addNewsletter(time: number): void {
    const { name, address, list, subject } = this.#dice.pick(newsletters);
    const fill = this.#filler();
    const titles = Array.from({ length: this.#dice.between(3, 8) }, () => this.#dice.pick(albums));
    this.#add(time, false, {
      from: { name, address },
      to: [this.#inbox],
      subject: fill(subject).replace('{month}', formatMonth(time)),
      messageId: this.#messageId({ name, address }),
      headers: [
        ['List-Id', `<${list}>`],
        ['List-Unsubscribe', `<https://${list}/off>, <mailto:off@${list}>`],
        ['Precedence', 'bulk'],
      ],
      text: `New records\n\n${titles.map((title) => `* ${title}`).join('\n')}\n\nNo longer of interest? https://${list}/off`,
      html: newsletterHtml(name, titles, list),
    });
  }

  #addNotice(time: number): void {
    const number = this.#orderNumber();
    const from = { name: 'Parcel Pigeon', address: 'notices@parcelpigeon.example' };
    this.#add(time, false, {
      from,
      to: [this.#inbox],
      subject: `Parcel ${number} was delivered`,
      messageId: this.#messageId(from),
      headers: [['Auto-Submitted', 'auto-generated']],
      text: `Parcel ${number} was handed over.\nTrack it: https://parcelpigeon.example/track/${number}`,
      html: noticeHtml(number),
      parts: [this.#picture('logo.png', 'logo@parcelpigeon.example')],
    });
  }

  #add(time: number, outgoing: boolean, content: Omit<RawContent, 'date'>): void {
    this.messages.push({
      time: Math.floor(time / 1000) * 1000,
      outgoing,
      content: { ...content, date: new Date(time) },
      starred: !outgoing && this.#dice.chance(0.06),
      readAfter: this.#dice.next() * 6,
    });
  }

  #files({ file }: DemoExchange, fill: (text: string) => string): RawPart[] {
    if (file === 'photo') return [this.#picture('sleeve corner.png')];
    if (file === 'invoice') {
      const lines = [fill('Invoice {n}'), 'Copperleaf Distribution', '40 records  480.00', 'Shipping  12.00'];
      return [{ filename: fill('Invoice {n}.pdf'), contentType: 'application/pdf', bytes: demoPdf(lines) }];
    }
    if (file !== 'list') return [];
    const rows = albums.map((album) => `"${album}",${this.#dice.between(1, 12)},${this.#dice.between(8, 40)}`);
    const bytes = Buffer.from(['title,copies,price', ...rows].join('\r\n'));
    return [{ filename: 'Frühjahr – stock.csv', contentType: 'text/csv; charset=utf-8', bytes }];
  }

  #picture(filename: string, contentId?: string): RawPart {
    const part = { filename, contentType: 'image/png', bytes: demoPng(this.#dice.between(0, 255)) };
    return contentId ? { ...part, contentId } : part;
  }

  #customer(): MailAddress {
    const name = this.#dice.pick(customers);
    const local = name
      .normalize('NFD')
      .toLowerCase()
      .replace(/[^a-z ]/g, '')
      .trim()
      .replace(/ +/g, '.');
    const host = this.#dice.pick(['post.example', 'mailbox.example', 'inbox.example']);
    return { name, address: `${local || `guest${customers.indexOf(name)}`}@${host}` };
  }

  #filler(): (text: string) => string {
    const number = this.#orderNumber();
    const album = this.#dice.pick(albums);
    return (text) => text.replaceAll('{n}', number).replaceAll('{album}', album);
  }

  #orderNumber(): string {
    return String(this.#dice.between(20_000, 99_999));
  }

  #messageId({ address }: MailAddress): string {
    this.#number += 1;
    return `${this.#number.toString(36)}.${this.#dice.between(1, 2 ** 31).toString(36)}@${address.split('@')[1]}`;
  }
}

const formatMonth = (time: number): string =>
  new Date(time).toLocaleString('en-GB', { month: 'long', timeZone: 'UTC' });

function quotation({ attribution }: DemoExchange, date: string, writer: string, text: string): string {
  const head = attribution.replace('{date}', date).replace('{writer}', writer);
  return [head, ...text.split('\n').map((line) => `> ${line}`.trimEnd())].join('\n');
}

const escapeHtml = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

/** The HTML of a message as mail programs write it: paragraphs, and the quotation in a block. */
function letterHtml(text: string, { reply }: DemoExchange): string {
  const lines = text.split('\n');
  const quoteIndex = lines.findIndex((line) => line.startsWith('>'));
  const ownText = (quoteIndex === -1 ? lines : lines.slice(0, quoteIndex)).map(escapeHtml).join('<br>\n');
  const quote = quoteIndex === -1 ? [] : lines.slice(quoteIndex).map((line) => escapeHtml(line.replace(/^> ?/, '')));
  const block = `<blockquote style="margin:0 0 0 8px;border-left:2px solid #ccc;padding-left:8px">${quote.join('<br>\n')}</blockquote>`;
  const font = reply === 'AW: ' ? 'Calibri, sans-serif' : 'Helvetica, Arial, sans-serif';
  return `<html><body><div style="font-family:${font};font-size:14px">${ownText}</div>${quoteIndex === -1 ? '' : block}</body></html>`;
}

function newsletterHtml(name: string, titles: readonly string[], list: string): string {
  const rows = titles.map(
    (title, index) => `<tr class="row"><td class="n">${index + 1}</td><td><b>${escapeHtml(title)}</b></td></tr>`,
  );
  return `<!doctype html><html><head><title>${escapeHtml(name)}</title><style>
body { background: #f4f1ea; font-family: Georgia, serif; }
.box { width: 560px; max-width: 100%; background: #fff; border: 1px solid #ddd; }
.row td { padding: 6px 12px; border-bottom: 1px solid #eee; } .n { color: #999; }
@media (max-width: 480px) { .box { width: 100% } }
</style></head><body><center><table class="box" cellspacing="0"><tr><td colspan="2" bgcolor="#22384a"
style="padding:16px;color:#fff;font-size:20px">${escapeHtml(name)}</td></tr>${rows.join('')}</table>
<p><img src="https://${list}/open.gif" width="1" height="1" alt=""><a href="https://${list}/off">Unsubscribe</a></p></center></body></html>`;
}

function noticeHtml(number: string): string {
  return `<div style="font-family:sans-serif"><img src="cid:logo@parcelpigeon.example" alt="Parcel Pigeon" width="48" height="48">
<h2 style="color:#2b6">Delivered</h2><p>Parcel <b>${number}</b> was handed over.
<a href="https://parcelpigeon.example/track/${number}">Track it</a></p></div>`;
}
