/** Files that pretend to be of another type, and files whose names try to reach other files. */
import { makeJpeg, packEntry, writeZip } from './hostile-archives.ts';
import { doctype, type HostileEntry, refused, rows, utf16 } from './hostile-file.ts';

const script = '<script>alert(document.domain)</script>';
const page = `<!doctype html><html><body>${script}</body></html>`;
const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const disguised: readonly HostileEntry[] = [
  [
    'SVG with a script',
    ['a.svg', 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">${script}</svg>`],
    null,
    refused,
  ],
  [
    'SVG with an entity',
    ['a.svg', 'image/svg+xml', `<?xml version="1.0"?>${doctype}<svg>&file;&l12;</svg>`],
    null,
    refused,
  ],
  [
    'SVG that claims to be PNG',
    ['a.png', 'image/png', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    null,
    refused,
  ],
  ['HTML that claims to be PNG', ['a.png', 'image/png', page], null, refused],
  ['HTML that claims to be CSV', ['a.csv', 'text/csv', page], null, refused],
  ['HTML after a byte order mark and spaces', ['a.txt', 'text/plain', `\ufeff \n ${page}`], null, refused],
  ['HTML in UTF-16', ['a.txt', 'text/plain', utf16(`\ufeff${page}`)], null, refused],
  [
    'XHTML',
    [
      'a.xml',
      'application/xhtml+xml',
      `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`,
    ],
    null,
    refused,
  ],
  ['a script that claims to be JPEG', ['a.jpg', 'image/jpeg', 'alert(1)\u0000'], null, refused],
  [
    'GIF that is also a script',
    ['a.js', 'text/javascript', Buffer.from(`GIF89a/*${script}*/=1;alert(1)`)],
    'image/gif',
    refused,
  ],
  ['PNG that is also HTML', ['a.html', 'text/html', Buffer.concat([tinyPng, Buffer.from(page)])], 'image/png', refused],
  ['JPEG with HTML in a comment', ['a.html', 'text/html', makeJpeg(4, 4, page)], 'image/jpeg', refused],
  [
    'GIF that is also a ZIP archive',
    [
      'a.gif',
      'image/gif',
      Buffer.concat([Buffer.from('GIF89a\x01\x00\x01\x00'), writeZip([packEntry('Main.class', 'x')])]),
    ],
    'image/gif',
    refused,
  ],
  [
    'HTML that is also a ZIP archive',
    ['a.zip', 'application/zip', Buffer.concat([Buffer.from(page), writeZip([packEntry('a', 'x')])])],
    null,
    refused,
  ],
  ['HTML that is also PDF', ['a.pdf', 'application/pdf', `${page}\n%PDF-1.7\n`], null, refused],
  [
    'PDF with a script',
    ['a.pdf', 'application/pdf', '%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj'],
    'application/pdf',
    refused,
  ],
  [
    'a program that claims to be PNG',
    ['a.png', 'image/png', Buffer.from('\x7fELF\x02\x01\x01\x00\x00', 'latin1')],
    null,
    refused,
  ],
];

export const named: readonly HostileEntry[] = [
  [
    'a name of 10 MB',
    [`${'n'.repeat(10_000_000)}.csv`, 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a path upwards',
    ['../../../../etc/passwd.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a path of Windows',
    ['..\\..\\windows\\system.ini', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'an absolute path',
    ['/etc/cron.d/a.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'an encoded path',
    ['%2e%2e%2f%2e%2e%2fa.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a name with control and direction characters',
    ['a\u0000b\u0007\u202egpj.exe', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  [
    'a name with a header',
    ['a"\r\nSet-Cookie: a=b\r\n.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
  ['a name of a device', ['CON.csv', 'text/csv', 'name\r\na\r\n'], 'text/plain; charset=utf-8', rows(['a', null])],
  [
    'a name of half a character',
    ['a\ud800.csv', 'text/csv', 'name\r\na\r\n'],
    'text/plain; charset=utf-8',
    rows(['a', null]),
  ],
];
