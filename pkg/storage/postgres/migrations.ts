import { sql, type Kysely } from 'kysely';
import { otherTimelineCode } from './connection/database-failure.ts';
import { timeline } from './history/epoch.ts';
import { quotaFunctions, quotaTables } from './quota/quota-sql.ts';
import { leaseHeld, leaseResource } from './table/lease-fence.ts';
import { ownerFunctions } from './table/owner-elements.ts';
import { tableName } from './table/table.ts';

/**
 * Schema `platform`. A released migration is never changed: a later one amends it.
 * `TableDefiner` creates the tables of models.
 */
export const platformMigrations = [
  { name: '0001_storage', up: createStorage },
  { name: '0002_incarnation', up: addIncarnation },
  { name: '0003_shape_is', up: createShapeIs },
  { name: '0004_change_log_model', up: indexSmallLog },
  { name: '0005_lease_held', up: createLeaseHeld },
  { name: '0006_owners', up: createOwners },
  { name: '0007_computed_keys', up: addComputedKeys },
  { name: '0008_audit_events', beside: '0007_computed_keys', up: createAuditEvents },
  { name: '0009_gaps', beside: '0008_audit_events', up: createGaps },
  { name: '0010_quotas', beside: '0009_gaps', up: createQuotas },
  { name: '0011_managed_fields', beside: '0010_quotas', up: addManagedFields },
  { name: '0012_fill_factor', beside: '0011_managed_fields', up: setFillFactor },
];

/** Null until the first check: the incarnation of an existing database is not known. */
async function addIncarnation(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE platform.meta ADD COLUMN incarnation text`.execute(db);
}

/**
 * `shapes_match` for the statement of a single write, at less than half the cost. VOLATILE and in plpgsql for the same
 * reason.
 */
async function createShapeIs(db: Kysely<unknown>): Promise<void> {
  const statement = sql`CREATE FUNCTION platform.shape_is(model int, wanted int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN RETURN EXISTS (SELECT FROM platform.models m WHERE m.id = model AND m.shape = wanted); END $$`;
  await statement.execute(db);
}

/**
 * Index for one model's history in order. Creating it blocks writers: on a large log, `IndexBuilder` builds it without
 * blocking.
 */
async function indexSmallLog(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{
    small: boolean;
  }>`SELECT pg_table_size('platform.change_log') < 32 * 1024 * 1024 AS small`.execute(db);
  if (rows[0]?.small === true)
    await sql`CREATE INDEX IF NOT EXISTS change_log_model ON platform.change_log (model, rev)`.execute(db);
}

/** Replaced when the model of leases is created; until then no lease is held. */
async function createLeaseHeld(db: Kysely<unknown>): Promise<void> {
  const nobody = sql`CREATE FUNCTION platform.lease_held(wanted_namespace text, wanted text, transitions int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN RETURN false; END $$`;
  await nobody.execute(db);
  const { rows } = await sql<{
    id: number;
  }>`SELECT id FROM platform.models WHERE api_group = ${leaseResource.group} AND resource = ${leaseResource.resource}`.execute(
    db,
  );
  if (rows[0] !== undefined) await sql.raw(leaseHeld(tableName(rows[0]))).execute(db);
}

/**
 * `OwnerIndexer` adds the index on owners to existing tables, and to those that a replica of an earlier release
 * creates, one by one and without blocking writers.
 */
async function createOwners(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE platform.models ADD COLUMN owners_indexed boolean NOT NULL DEFAULT false`.execute(db);
  for (const text of ownerFunctions) await sql.raw(text).execute(db);
}

/**
 * The functions of a model, and their results in the log: JSON by `ComputedKey.id`, only for models with such
 * functions.
 */
async function addComputedKeys(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE platform.models ADD COLUMN key_script text`.execute(db);
  await sql`ALTER TABLE platform.change_log ADD COLUMN old_keys text, ADD COLUMN new_keys text`.execute(db);
}

/**
 * `AuditPartitions` adds a partition for each day. One index, because every write pays for each; `username` and the
 * others are columns so that a search need not parse the events.
 */
async function createAuditEvents(db: Kysely<unknown>): Promise<void> {
  const statements = [
    sql`CREATE TABLE platform.audit_events (
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      id text COLLATE "C" NOT NULL,
      -- Null if the request wrote nothing.
      rev bigint,
      code int NOT NULL,
      username text NOT NULL,
      verb text COLLATE "C" NOT NULL,
      resource text COLLATE "C" NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      event text NOT NULL) PARTITION BY RANGE (at)`,
    sql`CREATE TABLE platform.audit_events_default PARTITION OF platform.audit_events DEFAULT`,
    sql`CREATE INDEX audit_events_at ON platform.audit_events (at, id)`,
  ];
  for (const statement of statements) await statement.execute(db);
}

/**
 * Gaps: revisions above `after` and up to `up_to` may have been given out and were lost in a failover. The functions that
 * every write calls under the lock raise SV001 on a server whose gap is not there yet: the jump over lost revisions comes
 * before the first write. In plpgsql for the reason of `shapes_match`.
 */
async function createGaps(db: Kysely<unknown>): Promise<void> {
  const check = sql.raw(`IF (SELECT timeline FROM platform.meta) <> ${timeline} THEN
      RAISE EXCEPTION 'the database failed over, and no server has noticed it yet' USING ERRCODE = '${otherTimelineCode}';
    END IF`);
  const statements = [
    sql`CREATE TABLE platform.gaps (after bigint PRIMARY KEY, up_to bigint NOT NULL)`,
    sql`CREATE OR REPLACE FUNCTION platform.shapes_match(ids int[], shapes int[]) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
      BEGIN
        ${check};
        RETURN NOT EXISTS (SELECT FROM unnest(ids, shapes) AS wanted(id, shape)
          LEFT JOIN platform.models m ON m.id = wanted.id WHERE m.shape IS DISTINCT FROM wanted.shape);
      END $$`,
    sql`CREATE OR REPLACE FUNCTION platform.shape_is(model int, wanted int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
      BEGIN
        ${check};
        RETURN EXISTS (SELECT FROM platform.models m WHERE m.id = model AND m.shape = wanted);
      END $$`,
  ];
  for (const statement of statements) await statement.execute(db);
}

async function createQuotas(db: Kysely<unknown>): Promise<void> {
  for (const text of [...quotaTables, ...quotaFunctions]) await sql.raw(text).execute(db);
}

/**
 * The index builder adds the column to existing tables, and to those that a replica of an earlier release creates, one by
 * one and without blocking writers.
 */
async function addManagedFields(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE platform.models ADD COLUMN has_managed boolean NOT NULL DEFAULT false`.execute(db);
  await sql`ALTER TABLE platform.change_log ADD COLUMN old_managed text, ADD COLUMN new_managed text`.execute(db);
  await sql`ALTER TABLE platform.idempotency_keys ADD COLUMN managed text`.execute(db);
}

/** For rows to come: no row moves. A replica of an earlier release creates tables with less room, which only cost more. */
async function setFillFactor(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: number }>`SELECT id FROM platform.models ORDER BY id`.execute(db);
  for (const row of rows) await sql.raw(`ALTER TABLE ${tableName(row)} SET (fillfactor = 75)`).execute(db);
}

async function createStorage(db: Kysely<unknown>): Promise<void> {
  const statements = [
    // CACHE must stay 1: a cached range would break the order of revisions.
    sql`CREATE SEQUENCE platform.revision AS bigint CACHE 1`,
    sql`CREATE TABLE platform.models (
      id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      api_group text COLLATE "C" NOT NULL,
      resource text COLLATE "C" NOT NULL,
      namespaced boolean NOT NULL,
      shape int NOT NULL DEFAULT 1,
      replaces bigint NOT NULL DEFAULT 0,
      columns_made int NOT NULL DEFAULT 0,
      columns jsonb NOT NULL DEFAULT '[]',
      UNIQUE (api_group, resource))`,
    // A watch of a dropped model must not continue silently with a model that was recreated under its name.
    sql`CREATE TABLE platform.dropped_models (
      api_group text COLLATE "C", resource text COLLATE "C", rev bigint NOT NULL, PRIMARY KEY (api_group, resource))`,
    sql`CREATE TABLE platform.change_log (
      rev bigint NOT NULL,
      size int NOT NULL,
      model int NOT NULL,
      type "char" NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      prev bigint,
      old text, old_fingerprint text,
      new text, new_fingerprint text,
      batch uuid,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (rev) INCLUDE (size))`,
    sql`CREATE INDEX change_log_key ON platform.change_log (model, namespace, name, rev)`,
    sql`CREATE TABLE platform.meta (
      id int PRIMARY KEY CHECK (id = 1),
      compacted bigint NOT NULL,
      epoch int NOT NULL,
      system_identifier text NOT NULL,
      timeline text NOT NULL)`,
    sql`CREATE TABLE platform.idempotency_keys (
      username text NOT NULL, method text NOT NULL, path text NOT NULL, key text NOT NULL,
      body_hash text NOT NULL,
      rev bigint NOT NULL,
      -- Of a request that changed nothing: no row of the log holds its outcome.
      namespace text, name text, body text, fingerprint text,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT idempotency_keys_pkey PRIMARY KEY (username, method, path, key))`,
    sql`CREATE INDEX idempotency_keys_rev ON platform.idempotency_keys (rev)`,
    sql`CREATE INDEX idempotency_keys_at ON platform.idempotency_keys (at)`,
    // VOLATILE on purpose, and in plpgsql so that they are never inlined: each call then sees changes committed before
    // it acquired the lock, not the statement's older snapshot.
    sql`CREATE FUNCTION platform.shapes_match(ids int[], shapes int[]) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
      BEGIN
        RETURN NOT EXISTS (SELECT FROM unnest(ids, shapes) AS wanted(id, shape)
          LEFT JOIN platform.models m ON m.id = wanted.id WHERE m.shape IS DISTINCT FROM wanted.shape);
      END $$`,
    // Replaced when the model of namespaces is created. The parameter `rev` makes the planner call it after the lock.
    sql`CREATE FUNCTION platform.namespace_exists(wanted text, rev bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
      BEGIN RETURN true; END $$`,
    sql`CREATE FUNCTION platform.namespace_in_use(wanted text, rev bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
      DECLARE model record; found boolean;
      BEGIN
        FOR model IN SELECT id FROM platform.models WHERE namespaced LOOP
          EXECUTE format('SELECT EXISTS (SELECT FROM platform.m_%s WHERE namespace = $1)', model.id) INTO found USING wanted;
          IF found THEN RETURN true; END IF;
        END LOOP;
        RETURN false;
      END $$`,
    // The log is never empty: its newest row is the revision of every list.
    sql`INSERT INTO platform.change_log (rev, size, model, type, namespace, name)
      VALUES (nextval('platform.revision'), 0, 0, 'M', '', '')`,
    sql`INSERT INTO platform.meta (id, compacted, epoch, system_identifier, timeline)
      SELECT 1, 0, 1, system_identifier::text, ${sql.raw(timeline)} FROM pg_control_system()`,
  ];
  for (const statement of statements) await statement.execute(db);
}
