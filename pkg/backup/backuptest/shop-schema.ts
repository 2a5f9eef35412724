import { sql, type Kysely } from 'kysely';
import type { BackedUpSchema } from '../backed-up-schema.ts';

/**
 * A schema with all features of the program's own schemas: circular references, generated and identity columns, rows
 * from migrations, runtime tables.
 */
export const shop: BackedUpSchema = {
  name: 'shop',
  migrations: [
    { name: '0001_base', up: makeBase },
    {
      name: '0002_notes',
      up: async (db) => {
        await sql`ALTER TABLE shop.customers ADD COLUMN note text`.execute(db);
      },
    },
  ],
  contents: {
    '0001_base': {
      tables: { customers: ['id', 'name', 'best'], receipts: ['id', 'text', 'customer'], kinds: ['id', 'name'] },
      // No value of the last one is used.
      sequences: ['customers_id_seq', 'kinds_id_seq', 'vouchers'],
    },
    '0002_notes': { tables: { customers: ['id', 'name', 'best', 'note'] } },
  },
  excludedTables: ['carts'],
  selections: {
    receipts:
      'SELECT r.id, coalesce(r.text, c.name) AS text, r.customer FROM shop.receipts r LEFT JOIN shop.customers c ON c.id = r.customer',
  },
  runtimeTables: {
    select: `SELECT 'm_' || id AS name FROM shop.kinds`,
    pattern: /^m_[1-9]\d{0,9}$/,
    triggers: {
      stamp: (table) =>
        `CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON shop.${table} FOR EACH ROW WHEN (NEW.labels = '{}') EXECUTE FUNCTION shop.stamp()`,
    },
  },
  stateLimits: { customers: 1_000_000 },
  readState: async (client) => {
    const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM shop.customers');
    return { customers: Number(rows[0]!.n) };
  },
};

async function makeBase(db: Kysely<unknown>): Promise<void> {
  const statements = [
    'CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, best int, initial text GENERATED ALWAYS AS (left(name, 1)) STORED)',
    'CREATE TABLE receipts (id int PRIMARY KEY, text text, customer int REFERENCES customers)',
    'ALTER TABLE customers ADD CONSTRAINT best_receipt FOREIGN KEY (best) REFERENCES receipts',
    'CREATE TABLE kinds (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)',
    'CREATE SEQUENCE vouchers',
    'CREATE TABLE carts (id int PRIMARY KEY)',
    'CREATE UNLOGGED TABLE counters (id int PRIMARY KEY)',
    "INSERT INTO customers (name) VALUES ('from the migration')",
    `CREATE FUNCTION shop.stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.labels := '{stamped}'; RETURN NEW; END $$`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** Rows of every kind, and two runtime tables. */
export const filled = `
  INSERT INTO shop.customers (name, note) VALUES (E'tab\\there, line\\nbreak, \\\\. and \\\\N', NULL), ('quote '' " ünï 😀', ''), ('', 'x');
  INSERT INTO shop.receipts VALUES (1, NULL, 2), (2, 'said', 3);
  UPDATE shop.customers SET best = 1 WHERE id = 3;
  INSERT INTO shop.carts VALUES (1); INSERT INTO shop.counters VALUES (1);
  INSERT INTO shop.kinds (name) VALUES ('first'), ('gone'), ('second');
  DELETE FROM shop.kinds WHERE name = 'gone';
  CREATE TABLE shop.m_1 (namespace text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, rev bigint NOT NULL, uid uuid NOT NULL, created timestamptz NOT NULL, deleted timestamptz,
    labels text[] COLLATE "C" NOT NULL, body text NOT NULL, lost int, i_1 text COLLATE "C", i_2 bigint, i_3 double precision, i_4 boolean, i_5 text[] COLLATE "C" NOT NULL DEFAULT '{}',
    i_6 timestamptz[] NOT NULL DEFAULT '{}', PRIMARY KEY (namespace, name)) WITH (fillfactor = 85);
  ALTER TABLE shop.m_1 DROP COLUMN lost;
  CREATE INDEX m_1_labels ON shop.m_1 USING gin (labels) WITH (fastupdate = off);
  CREATE INDEX m_1_created ON shop.m_1 (created NULLS FIRST, namespace DESC, name);
  CREATE INDEX m_1_rev ON shop.m_1 (rev DESC NULLS LAST, name DESC NULLS FIRST);
  CREATE UNIQUE INDEX m_1_i_1_unique ON shop.m_1 (i_1);
  CREATE INDEX m_1_i_5 ON shop.m_1 USING gin (i_5);
  CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON shop.m_1 FOR EACH ROW WHEN (NEW.labels = '{}') EXECUTE FUNCTION shop.stamp();
  INSERT INTO shop.m_1 SELECT 'ns', 'n' || i, i, gen_random_uuid(), now() - i * interval '1 s', CASE i % 3 WHEN 0 THEN now() END, ARRAY['a=' || i, '"', '\\'], repeat('body ' || i, i % 50),
    'key' || i, i * 1000000007::bigint, CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE i / 3.0 END, i % 2 = 0, ARRAY['x', NULL], ARRAY[now()] FROM generate_series(1, 500) i;
  CREATE TABLE shop.m_2 (gone text);
  CREATE TABLE shop.m_3 (body text)`;

/** The definition and content of its tables, without column numbers, in which a dropped column leaves a gap. */
export const structure = `
  SELECT c.relname || ' ' || c.relkind::text || ' ' || coalesce(array_to_string(c.reloptions, ','), '') AS line FROM pg_class c WHERE c.relnamespace = 'shop'::regnamespace AND c.relname <> 'm_2'
  UNION ALL SELECT a.attrelid::regclass || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || a.attcollation || coalesce(pg_get_expr(d.adbin, d.adrelid), '') FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind = 'r' AND c.relname <> 'm_2' AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'shop'
  UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'shop'::regnamespace
  UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = 'shop'::regnamespace AND NOT t.tgisinternal
  UNION ALL SELECT sequencename || ' ' || coalesce(last_value::text, '') FROM pg_sequences WHERE schemaname = 'shop'
  ORDER BY 1`;
