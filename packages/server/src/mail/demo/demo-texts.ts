/**
 * The messages of a conversation, alternately by the customer and the store. Placeholders: `{n}` is the number of an order,
 * `{album}` an album, `{name}` the writer.
 */
export interface DemoExchange {
  readonly subject: string;
  readonly turns: readonly string[];
  /** The prefix of the subject of replies. */
  readonly reply: string;
  /** The line above a quotation, with the placeholders `{date}` and `{writer}`. */
  readonly attribution: string;
  readonly file?: 'photo' | 'invoice' | 'list';
}

const english = { reply: 'Re: ', attribution: 'On {date}, {writer} wrote:' };
const german = { reply: 'AW: ', attribution: 'Am {date} schrieb {writer}:' };
const french = { reply: 'Re : ', attribution: 'Le {date}, {writer} a écrit :' };
const spanish = { reply: 'RE: ', attribution: 'El {date}, {writer} escribió:' };
const japanese = { reply: 'Re: ', attribution: '{date} {writer} のメール:' };

export const exchanges: readonly DemoExchange[] = [
  {
    ...english,
    subject: 'Order {n}: sleeve arrived bent',
    file: 'photo',
    turns: [
      'Hello,\n\nmy copy of "{album}" (order {n}) came today, and one corner of the sleeve is bent. The record itself is fine. A photo is attached.\n\nWould a new sleeve be possible?\n\nBest,\n{name}',
      'Hi,\n\nsorry about that! We have a spare sleeve and will post it tomorrow. No need to send anything back.\n\nKind regards\n{name}',
      'That was quick, thank you. I will look out for it.\n\n{name}',
      'It left the shop this morning. Enjoy the record!\n\n{name}',
      'The sleeve is here and it is perfect. Thanks again.\n\n{name}',
    ],
  },
  {
    ...english,
    subject: 'Is "{album}" coming back on vinyl?',
    turns: [
      'Hi there,\n\ndo you know whether "{album}" will be pressed again this year? I have been looking for it for ages.\n\nCheers\n{name}',
      'Hello,\n\nthe label says autumn. Shall I put one aside for you when it comes? You pay when you pick it up.\n\n{name}',
      'Yes please! One for me and one for my sister.\n\n{name}',
      'Two are noted under your name. We will write as soon as they are in.\n\n{name}',
      'Any news on this?\n\n{name}',
      'Not yet: the pressing plant is two weeks late. We have not forgotten you.\n\n{name}',
      'No hurry, thanks for the update.\n\n{name}',
      'They are here! Both are behind the counter until the end of the month.\n\n{name}',
    ],
  },
  {
    ...english,
    subject: 'Invoice {n}',
    file: 'invoice',
    turns: [
      'Dear team,\n\nplease find invoice {n} attached. It covers 40 copies of "{album}" and shipping.\n\nPayment within 30 days, please.\n\n{name}\nAccounts, Copperleaf Distribution',
      'Thank you, received. We counted 38 copies; could you check the delivery note?\n\n{name}',
      'You are right, two were left here. We will credit them on the next invoice.\n\n{name}',
      'Fine with us, paid today.\n\n{name}',
    ],
  },
  {
    ...english,
    subject: 'Stock list for the spring fair',
    file: 'list',
    turns: [
      'Hi all,\n\nthe list of what we take to the fair is attached. "{album}" is in it twice, I think; have a look before I print the labels.\n\n{name}',
      'Checked. The second one is the mono pressing, so both may stay. Price for the mono: 34.\n\n{name}',
      'Done. Labels are on the desk.\n\n{name}',
    ],
  },
  {
    ...german,
    subject: 'Rückgabe der Bestellung {n}',
    turns: [
      'Guten Tag,\n\nich habe „{album}“ versehentlich doppelt bestellt (Bestellung {n}). Kann ich ein Exemplar zurückschicken? Es ist noch eingeschweißt.\n\nViele Grüße\n{name}',
      'Guten Tag,\n\nselbstverständlich. Legen Sie bitte einfach den Lieferschein bei; der Betrag wird nach Eingang überwiesen.\n\nFreundliche Grüße\n{name}',
      'Vielen Dank, das Päckchen ist heute auf den Weg gegangen.\n\n{name}',
    ],
  },
  {
    ...french,
    subject: 'Disponibilité de « {album} »',
    turns: [
      'Bonjour,\n\nauriez-vous encore un exemplaire de « {album} » en très bon état ? Je passerai à la boutique samedi après-midi.\n\nCordialement,\n{name}',
      'Bonjour,\n\nil nous en reste un, pochette légèrement usée. Nous vous le gardons jusqu’à samedi soir.\n\nÀ bientôt\n{name}',
    ],
  },
  {
    ...spanish,
    subject: '¿Envían a las islas? Pedido {n}',
    turns: [
      'Hola:\n\n¿cuánto cuesta el envío a las islas? Me interesa «{album}» y quizás algo más.\n\nGracias,\n{name}',
      'Hola:\n\nhasta cinco discos son doce euros, y el paquete llega en una semana.\n\nUn saludo\n{name}',
      'Perfecto, hago el pedido esta noche. ¡Gracias!\n\n{name}',
    ],
  },
  {
    ...japanese,
    subject: '「{album}」の在庫について',
    turns: [
      'はじめまして。\n\n「{album}」の在庫はありますか。日本への発送も可能でしょうか。\n\nよろしくお願いいたします。\n{name}',
      'Thank you for writing! Yes, we have one copy, and we ship to Japan (about ten days).\n\n{name}',
      'ありがとうございます。注文いたしました。\n\n{name}',
    ],
  },
];

/** All names and addresses are fictitious, and all domains end in `.example` (RFC 2606). */
export const albums = [
  'Paper Lighthouse',
  'Winter Tramlines',
  'Nine Quiet Engines',
  'The Orchard Tapes',
  'Salt and Static',
  'Harbour Lights, Vol. 2',
  'Slow Meridian',
  'Glass Weather',
  'Señales del Norte',
  'Über den Dächern',
];
export const customers = [
  'Mira Talvane',
  'Joss Ankerby',
  'Odette Verlisse',
  'Ruben Calderwick',
  'Søren Halvgaard',
  'Inés Morabela',
  'Henrike Lohmbach',
  'Théo Marquandel',
  '高山 みのり',
  'Bela Szarvosi',
  'Nadia Ferrowen',
  'Tom Quillsby',
];
export const staff = ['Ana Brightwell', 'Piet Oosterlund', 'Lena Karsting'];
export const newsletters = [
  {
    name: 'Copperleaf Distribution',
    address: 'news@copperleaf.example',
    list: 'releases.copperleaf.example',
    subject: 'New this week: {album} and 14 more',
  },
  {
    name: 'Tin Roof Pressing',
    address: 'hello@tinroof.example',
    list: 'letters.tinroof.example',
    subject: 'Pressing times, {month}: what is on the plates',
  },
];
