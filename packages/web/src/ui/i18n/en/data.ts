/** Pages of collections and records. */
export const data = {
  collections: {
    title: 'Data',
    yours: 'Collections',
    system: 'Kept by the server',
    create: 'New collection',
    filter: 'Find a collection',
    records: 'Records',
    fields: (n: number) => (n === 1 ? '1 field' : `${n} fields`),
    emptyTitle: 'No collections yet',
    emptyText: 'A collection is a table of records. Define one, and its API is there at once.',
    noneMatch: 'No collection matches.',
    relations: 'Relations',
  },
};
