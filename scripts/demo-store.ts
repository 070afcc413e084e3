/** A small music store: the data that `npm run demo` shows next to its mail. All names are invented. */

export const storeDefinitions = [
  {
    name: 'artists',
    title: 'Artists',
    fields: [
      { name: 'name', type: 'string', required: true, unique: true },
      { name: 'country', type: 'string' },
      { name: 'albums', type: 'hasMany', target: 'albums', foreignKey: 'artistId' },
    ],
  },
  {
    name: 'albums',
    title: 'Albums',
    fields: [
      { name: 'title', type: 'string', required: true },
      { name: 'artist', type: 'belongsTo', target: 'artists', onDelete: 'restrict' },
      { name: 'released', type: 'date' },
      { name: 'format', type: 'select', enum: ['LP', 'CD', 'cassette'] },
      { name: 'price', type: 'decimal', precision: 8, scale: 2, min: 0 },
      { name: 'stock', type: 'integer', min: 0, defaultValue: 0 },
    ],
    options: { logging: true },
  },
  {
    name: 'customers',
    title: 'Customers',
    fields: [
      { name: 'name', type: 'string', required: true },
      { name: 'email', type: 'email', unique: true },
      { name: 'newsletter', type: 'boolean', defaultValue: false },
    ],
  },
  {
    name: 'orders',
    title: 'Orders',
    fields: [
      { name: 'customer', type: 'belongsTo', target: 'customers', onDelete: 'restrict' },
      { name: 'album', type: 'belongsTo', target: 'albums', onDelete: 'restrict' },
      { name: 'status', type: 'select', enum: ['open', 'packed', 'shipped'], defaultValue: 'open' },
      { name: 'quantity', type: 'integer', min: 1, defaultValue: 1 },
    ],
    options: { logging: true, paranoid: true },
  },
] as const;

const artists = ['Amber Tide', 'Kestrel & Sons', 'Nadia Vantongeren', 'Paper Lanterns', 'The Low Meadows', 'Ursa Trio'];
const countries = ['Ireland', 'Ghana', 'Belgium', 'Japan', 'Canada', 'Portugal'];
const titles = ['Harbour Lights', 'Seven Kites', 'Slow Weather', 'Night Ferry', 'Glasshouse', 'Second Spring'];
const formats = ['LP', 'CD', 'cassette'];
const people = ['Cora Lind', 'Dan Okafor', 'Eve Marchetti', 'Fay Nyström', 'Gus Petrov', 'Hana Sato', 'Ivo Brandt'];
const states = ['open', 'packed', 'shipped'];

/** Records in the order in which they are made; ids are 1, 2, 3 … */
export const storeRecords: readonly (readonly [collection: string, records: readonly object[]])[] = [
  ['artists', artists.map((name, index) => ({ name, country: countries[index] }))],
  [
    'albums',
    artists.flatMap((_, artist) =>
      titles.slice(0, 4).map((title, index) => ({
        title: `${titles[(artist + index) % titles.length]}${index === 0 ? '' : ` ${index + 1}`}`,
        artistId: artist + 1,
        released: `${2012 + ((artist * 3 + index) % 14)}-0${1 + (title.length % 9)}-12`,
        format: formats[(artist + index) % formats.length],
        price: `${12 + ((artist * 5 + index * 3) % 20)}.90`,
        stock: (artist * 7 + index * 4) % 25,
      })),
    ),
  ],
  [
    'customers',
    people.map((name, index) => ({
      name,
      email: `${name.split(' ')[0]!.toLowerCase()}@customers.example`,
      newsletter: index % 2 === 0,
    })),
  ],
  [
    'orders',
    Array.from({ length: 20 }, (_, index) => ({
      customerId: 1 + (index % people.length),
      albumId: 1 + ((index * 5) % 24),
      status: states[index % states.length],
      quantity: 1 + (index % 3),
    })),
  ],
];
