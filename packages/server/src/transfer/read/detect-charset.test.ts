import iconv from 'iconv-lite';
import { expect, test } from 'vitest';
import { toBlob } from '../../../test/support/source-file.ts';
import { openTable } from './open-table.ts';

/** Typical names, places and remarks in tables, by language. */
const texts = {
  ru: [
    'Иванов Иван',
    'Петрова Мария',
    'Москва',
    'Санкт-Петербург',
    'Оплачено',
    'Нижний Новгород',
    'улица Ленина, дом 5',
  ],
  uk: ['Шевченко Тарас', 'Київ', 'Львів', 'Ковальчук Олена', 'Харків', 'вулиця Хрещатик'],
  bg: ['Георги Иванов', 'София', 'Пловдив', 'Мария Петрова', 'Варна', 'улица Витоша'],
  el: ['Παπαδόπουλος Γιώργος', 'Αθήνα', 'Θεσσαλονίκη', 'Μαρία Νικολάου', 'ΠΑΤΡΑ', 'οδός Ερμού 5', 'Πληρωμένο'],
  he: ['כהן דוד', 'ירושלים', 'תל אביב', 'חיפה', 'לוי שרה', 'באר שבע', 'רחוב הרצל'],
  ar: ['محمد علي', 'القاهرة', 'الرياض', 'فاطمة حسن', 'دبي', 'شارع النيل', 'مدفوع'],
  th: ['สมชาย ใจดี', 'กรุงเทพมหานคร', 'เชียงใหม่', 'ภูเก็ต', 'ถนนสุขุมวิท', 'ชำระแล้ว'],
  pl: ['Łukasz Wiśniewski', 'Kraków', 'Łódź', 'Gdańsk', 'Małgorzata Dąbrowska', 'Poznań'],
  hu: ['Kovács Erzsébet', 'Győr', 'Székesfehérvár', 'Nagy Gyöngyi', 'Hódmezővásárhely'],
  tr: ['Çağlar Yılmaz', 'İstanbul', 'Şişli', 'Ayşe Öztürk', 'Gökçe Güneş', 'ödendi'],
  de: ['Müller', 'Jürgen Schäfer', 'Düsseldorf', 'Straße 5', 'Günther Groß', 'bezahlt für März'],
  fr: ['François Lefèvre', 'Besançon', 'Orléans', 'Hélène Côté', 'Évry', 'Çà et là', '100 €'],
  es: ['Muñoz', 'Peña', 'León', 'Núñez Ramón', 'Málaga', 'Andrés Ibáñez'],
  sv: ['Åsa Öberg', 'Göteborg', 'Malmö', 'Östersund', 'Björn Sjögren'],
  pt: ['João Gonçalves', 'São Paulo', 'Conceição', 'Brasília', 'não pago'],
  is: ['Guðrún Sigurðardóttir', 'Þórður Jónsson', 'Reykjavík', 'Ísafjörður', 'Akureyri í Eyjafirði'],
  ja: ['山田太郎', '東京都', '大阪府', '札幌市中央区', '支払済み', 'カタカナ', '株式会社テスト', 'ひらがな'],
  zh: ['张伟', '北京市', '上海', '广州市天河区', '已付款', '深圳', '有限公司', '人民路'],
  tw: ['陳大文', '臺北市', '高雄', '臺中市西屯區', '已付款', '新竹', '有限公司', '中山路'],
  ko: ['김철수', '서울특별시', '부산', '대구광역시', '결제완료', '주식회사', '강남구'],
} as const;

const cases: readonly (readonly [encoding: string, language: keyof typeof texts])[] = [
  ...(['ru', 'uk', 'bg'] as const).map((language) => ['windows-1251', language] as const),
  ['koi8-r', 'ru'],
  ['ibm866', 'ru'],
  ['windows-1253', 'el'],
  ['windows-1255', 'he'],
  ['windows-1256', 'ar'],
  ['windows-874', 'th'],
  ['windows-1250', 'pl'],
  ['windows-1250', 'hu'],
  ['windows-1254', 'tr'],
  ...(['de', 'fr', 'es', 'sv', 'pt', 'is'] as const).map((language) => ['windows-1252', language] as const),
  ['shift_jis', 'ja'],
  ['euc-jp', 'ja'],
  ['gb18030', 'zh'],
  ['big5', 'tw'],
  ['euc-kr', 'ko'],
];

const header = 'number;remark;price;date;status\r\n';
const makeRow = (remark: string, index: number): string =>
  `A-${1000 + index};${remark};${index}.50;2026-01-02;open\r\n`;
const readEncoding = async (text: string, encoding: string, pieceSize?: number): Promise<string | null> =>
  (await openTable(toBlob(iconv.encode(text, encoding), pieceSize))).encoding;

test.each(cases)('%s is detected in a table in %s, although most of it is ASCII', async (encoding, language) => {
  const rows = texts[language].map(makeRow).join('');
  expect(await readEncoding(header + rows, encoding)).toBe(encoding);
  expect(await readEncoding(header + rows, encoding, 7)).toBe(encoding);
  // The lines with other characters are far from the beginning and from each other.
  const plain = Array.from({ length: 1500 }, (_, index) => makeRow('plain text', index)).join('');
  const sparse = texts[language].map((text, index) => plain + makeRow(text, index)).join('');
  expect(await readEncoding(header + sparse, encoding)).toBe(encoding);
});

test('a single word in another script is detected, and a single letter is read as a Latin letter', async () => {
  const plain = Array.from({ length: 3000 }, (_, index) => makeRow('plain text', index)).join('');
  expect(await readEncoding(header + plain + makeRow('Москва', 1) + plain, 'windows-1251')).toBe('windows-1251');
  expect(await readEncoding(header + plain + makeRow('Αθήνα', 1) + plain, 'windows-1253')).toBe('windows-1253');
  expect(await readEncoding(header + plain + makeRow('Ö', 1) + plain, 'windows-1252')).toBe('windows-1252');
  expect(await readEncoding(header + plain + makeRow('Zoë', 1) + plain, 'windows-1252')).toBe('windows-1252');
});
