import { allModels } from '../table/limited-tables.ts';

/** The newest row of what a limit's objects take; none means nothing. `q` is a row of `quotas`. */
export const usageOf = (q: string): string =>
  `LATERAL (SELECT u.count, u.bytes FROM platform.quota_usage u WHERE u.namespace = ${q}.namespace AND u.model = ${q}.model ORDER BY u.id DESC LIMIT 1)`;

/**
 * Tables: limits, and what their objects take. Usage is a log of which the newest row counts: a row that every write
 * updates would have thousands of dead versions before each reader while a backup holds its snapshot.
 */
export const quotaTables = [
  `CREATE TABLE platform.quotas (
    namespace text COLLATE "C" NOT NULL,
    model int NOT NULL,
    max_count bigint, count_quota text,
    max_bytes bigint, bytes_quota text,
    -- Another one for each count: one that began before is of no use.
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    is_counted boolean NOT NULL DEFAULT false,
    must_count boolean NOT NULL DEFAULT true,
    PRIMARY KEY (namespace, model))`,
  `CREATE TABLE platform.quota_usage (
    namespace text COLLATE "C" NOT NULL,
    model int NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    count bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (namespace, model, id))`,
  `ALTER TABLE platform.models ADD COLUMN limited boolean NOT NULL DEFAULT false`,
];

/** What the rows of `changed` count for, and what these limits' objects took before. */
const usageOfAll = (changed: string): string =>
  `CROSS JOIN LATERAL (SELECT * FROM platform.quotas WHERE namespace = ${changed}.namespace AND model IN (${changed}.model, ${allModels}) OFFSET 0) q LEFT JOIN ${usageOf('q')} u ON true`;

/** Adds the rows of a transition table to the usage of their namespaces. */
const countRows = (rows: string): string =>
  `INSERT INTO platform.quota_usage (namespace, model, count, bytes)
        SELECT q.namespace, q.model, coalesce(u.count, 0) + c.count, coalesce(u.bytes, 0) + c.bytes
          FROM (SELECT TG_ARGV[0]::int AS model, namespace, ${rows} GROUP BY namespace) c ${usageOfAll('c')}
          WHERE c.count <> 0 OR c.bytes <> 0`;

/**
 * SQL functions. They are in plpgsql and VOLATILE, so that each query in them sees what was committed before the
 * revision lock was acquired, and what the statement itself has done so far.
 */
export const quotaFunctions = [
  // After the rows are written: a create that found its name taken, or its namespace gone, counts nothing.
  `CREATE FUNCTION platform.count_usage() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        ${countRows('count(*) AS count, sum(octet_length(body)) AS bytes FROM added')};
      ELSIF TG_OP = 'DELETE' THEN
        ${countRows('-count(*) AS count, -sum(octet_length(body)) AS bytes FROM removed')};
      ELSE
        ${countRows('0 AS count, sum(size) AS bytes FROM (SELECT namespace, octet_length(body) AS size FROM added UNION ALL SELECT namespace, -octet_length(body) FROM removed) both_rows')};
      END IF;
      RETURN NULL;
    END $$`,
  // Do these writes fit? A row for each namespace and model, and one for all models, with what the writes may add.
  // `rev` makes the planner call it after the lock, and `over_quota` too.
  `CREATE FUNCTION platform.within_quota(models int[], namespaces text[], counts int[], sizes bigint[], rev bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      RETURN NOT EXISTS (SELECT FROM unnest(models, namespaces, counts, sizes) AS c(model, namespace, count, size)
        JOIN platform.quotas q ON q.namespace = c.namespace AND q.model = c.model LEFT JOIN ${usageOf('q')} u ON true
        WHERE q.is_counted AND (c.count > 0 AND coalesce(u.count, 0) + c.count > q.max_count OR c.size > 0 AND coalesce(u.bytes, 0) + c.size > q.max_bytes));
    END $$`,
  // For writes that may not fit together: those that pass a quota, if each one before them that does not is written.
  `CREATE FUNCTION platform.over_quota(positions int[], models int[], namespaces text[], counts int[], sizes int[], always boolean[]) RETURNS int[] LANGUAGE plpgsql VOLATILE AS $$
    DECLARE rest jsonb; refused int[] := '{}'; o record; key text;
    BEGIN
      SELECT jsonb_object_agg(q.namespace || '/' || q.model, jsonb_build_object('count', q.max_count - coalesce(u.count, 0), 'bytes', q.max_bytes - coalesce(u.bytes, 0))) INTO rest
        FROM platform.quotas q LEFT JOIN ${usageOf('q')} u ON true WHERE q.namespace = ANY (namespaces) AND q.is_counted;
      FOR o IN SELECT * FROM unnest(positions, models, namespaces, counts, sizes, always) AS w(i, model, namespace, count, size, always) ORDER BY i LOOP
        IF NOT o.always AND EXISTS (SELECT FROM unnest(ARRAY[o.model, ${allModels}]) AS m(model)
          WHERE o.count > 0 AND o.count > (rest -> (o.namespace || '/' || m.model) ->> 'count')::bigint
            OR o.size > 0 AND o.size > (rest -> (o.namespace || '/' || m.model) ->> 'bytes')::bigint) THEN
          refused := refused || o.i;
          CONTINUE;
        END IF;
        FOREACH key IN ARRAY ARRAY[o.namespace || '/' || o.model, o.namespace || '/${allModels}'] LOOP
          IF rest ? key THEN
            rest := rest || jsonb_build_object(key, jsonb_build_object('count', (rest -> key ->> 'count')::bigint - o.count, 'bytes', (rest -> key ->> 'bytes')::bigint - o.size));
          END IF;
        END LOOP;
      END LOOP;
      RETURN refused;
    END $$`,
  // A model that goes takes its limits along. Those on all models still count its objects, until they are counted again.
  `CREATE FUNCTION platform.forget_usage() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      DELETE FROM platform.quotas WHERE model = OLD.id;
      DELETE FROM platform.quota_usage WHERE model = OLD.id;
      IF OLD.limited THEN UPDATE platform.quotas SET must_count = true, id = gen_random_uuid() WHERE model = ${allModels}; END IF;
      RETURN NULL;
    END $$`,
  'CREATE TRIGGER quotas AFTER DELETE ON platform.models FOR EACH ROW EXECUTE FUNCTION platform.forget_usage()',
];
