import { type Sql, sql } from '../sql.ts';

const fullTextColumns = 'account, subject, sender, recipients, body, files';
const fullTextOptions = `content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'`;

/** The tables of the catalogue, each with the statements that create it. */
export const sqliteCatalogue: Readonly<Record<string, readonly Sql[]>> = {
  _meta: [
    sql`CREATE TABLE _meta (
      version INTEGER NOT NULL, schema_version INTEGER NOT NULL, epoch TEXT NOT NULL,
      application TEXT NOT NULL)`,
  ],
  // The numbered migrations that were applied, see upgrades/.
  _migrations: [sql`CREATE TABLE _migrations (number INTEGER PRIMARY KEY, title TEXT NOT NULL, at TEXT NOT NULL)`],
  // Settings of the server, only in the store of `main`.
  _settings: [sql`CREATE TABLE _settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`],
  _backups: [
    sql`CREATE TABLE _backups (id TEXT PRIMARY KEY, slot TEXT UNIQUE, status TEXT NOT NULL, job TEXT NOT NULL)`,
  ],
  _collections: [
    sql`CREATE TABLE _collections (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, title TEXT, description TEXT,
      options TEXT NOT NULL, table_name TEXT NOT NULL, system INTEGER NOT NULL, internal INTEGER NOT NULL,
      changed INTEGER NOT NULL)`,
  ],
  _fields: [
    sql`CREATE TABLE _fields (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      collection_id INTEGER NOT NULL REFERENCES _collections(id) ON DELETE CASCADE, name TEXT NOT NULL,
      definition TEXT NOT NULL, facts TEXT NOT NULL, UNIQUE (collection_id, name))`,
  ],
  // Portable ids of definitions, by which schema files recognise renamed ones, see revisions/.
  _schema_ids: [
    sql`CREATE TABLE _schema_ids (
      kind TEXT NOT NULL, item TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (kind, item), UNIQUE (kind, id))`,
  ],
  // The applied schema documents, and what each of them changed.
  _schema_revisions: [
    sql`CREATE TABLE _schema_revisions (
      number INTEGER PRIMARY KEY, at TEXT NOT NULL, actor TEXT, summary TEXT NOT NULL, steps TEXT NOT NULL,
      document_before TEXT NOT NULL, document_after TEXT NOT NULL)`,
  ],
  // Copies of destroyed fields and collections, each in a table of its own, which are kept for 30 days.
  _schema_tombstones: [
    sql`CREATE TABLE _schema_tombstones (
      id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, name TEXT NOT NULL, table_name TEXT NOT NULL, columns TEXT NOT NULL,
      records INTEGER NOT NULL, at TEXT NOT NULL, expires TEXT NOT NULL)`,
  ],
  _events: [
    sql`CREATE TABLE _events (
      id INTEGER PRIMARY KEY, at TEXT NOT NULL, name TEXT NOT NULL, resource TEXT NOT NULL, tk TEXT,
      actor TEXT, request_id TEXT, changed TEXT NOT NULL)`,
  ],
  _outbox: [sql`CREATE TABLE _outbox (id INTEGER PRIMARY KEY, position TEXT NOT NULL)`],
  _acts: [sql`CREATE TABLE _acts (id INTEGER PRIMARY KEY AUTOINCREMENT, act TEXT NOT NULL)`],
  _audit_witness: [
    sql`CREATE TABLE _audit_witness (chain TEXT PRIMARY KEY, place INTEGER NOT NULL, hash TEXT NOT NULL)`,
  ],
  _history: [
    sql`CREATE TABLE _history (
      id INTEGER PRIMARY KEY AUTOINCREMENT, collection_id INTEGER NOT NULL, tk TEXT NOT NULL,
      at TEXT NOT NULL, action TEXT NOT NULL, actor TEXT, request_id TEXT, changes TEXT NOT NULL)`,
    sql`CREATE INDEX i_history ON _history (collection_id, tk, id)`,
  ],
  _replies: [
    sql`CREATE TABLE _replies (
      id INTEGER PRIMARY KEY AUTOINCREMENT, credential TEXT NOT NULL, key TEXT NOT NULL,
      request TEXT NOT NULL, power TEXT NOT NULL, at TEXT NOT NULL, ended INTEGER NOT NULL, reply TEXT,
      UNIQUE (credential, key))`,
    sql`CREATE INDEX i_replies ON _replies (at)`,
  ],
  // The thumbnail of a picture in one size. An empty `variant`: no thumbnail could be made of the picture.
  _thumbnails: [
    sql`CREATE TABLE _thumbnails (
      source TEXT NOT NULL, variant TEXT NOT NULL, sha256 TEXT, attempts INTEGER NOT NULL, at TEXT NOT NULL,
      PRIMARY KEY (source, variant)) WITHOUT ROWID`,
    sql`CREATE INDEX i_thumbnails ON _thumbnails (sha256)`,
  ],
  // The search indexes of fields, see database/search-index-rows.ts.
  _search_indexes: [
    sql`CREATE TABLE _search_indexes (
      field_id INTEGER PRIMARY KEY, collection_id INTEGER NOT NULL, name TEXT NOT NULL, column_name TEXT NOT NULL,
      state TEXT NOT NULL, position INTEGER NOT NULL, done INTEGER NOT NULL, total INTEGER, problem TEXT)`,
  ],
  // At most one row: the version of the index, and the key down to which e-mails are indexed.
  _mail_index: [sql`CREATE TABLE _mail_index (version INTEGER NOT NULL, position INTEGER)`],
  // The index has no content of its own: the words are in the e-mails.
  _mail_text: [sql`CREATE VIRTUAL TABLE _mail_text USING fts5(${fullTextColumns}, ${fullTextOptions})`],
};
