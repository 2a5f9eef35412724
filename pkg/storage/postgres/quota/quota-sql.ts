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

/**
 * SQL functions. They are in plpgsql and VOLATILE, so that each query in them sees what was committed before the
 * revision lock was acquired, and what the statement itself has done so far.
 */
export const quotaFunctions = [
  `CREATE FUNCTION platform.add_usage(changed_model int, changed_namespace text, more_count bigint, more_bytes bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      INSERT INTO platform.quota_usage (namespace, model, count, bytes)
        SELECT q.namespace, q.model, coalesce(u.count, 0) + more_count, coalesce(u.bytes, 0) + more_bytes
        FROM platform.quotas q LEFT JOIN ${usageOf('q')} u ON true
        WHERE q.namespace = changed_namespace AND q.model IN (changed_model, ${allModels}) AND (more_count <> 0 OR more_bytes <> 0);
    END $$`,
  // After the rows are written: a create that found its name taken, or its namespace gone, counts nothing.
  `CREATE FUNCTION platform.count_usage() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        PERFORM platform.add_usage(TG_ARGV[0]::int, namespace, count(*), sum(octet_length(body))) FROM added GROUP BY namespace;
      ELSIF TG_OP = 'DELETE' THEN
        PERFORM platform.add_usage(TG_ARGV[0]::int, namespace, -count(*), -sum(octet_length(body))) FROM removed GROUP BY namespace;
      ELSE
        PERFORM platform.add_usage(TG_ARGV[0]::int, namespace, 0, sum(size)::bigint)
          FROM (SELECT namespace, octet_length(body) AS size FROM added UNION ALL SELECT namespace, -octet_length(body) FROM removed) both_rows
          GROUP BY namespace;
      END IF;
      RETURN NULL;
    END $$`,
  // `rev` makes the planner call it after the lock. The first query ends most calls: everything fits.
  `CREATE FUNCTION platform.over_quota(positions int[], models int[], namespaces text[], counts int[], sizes int[], always boolean[], rev bigint) RETURNS int[] LANGUAGE plpgsql VOLATILE AS $$
    DECLARE rest jsonb; refused int[] := '{}'; o record; key text;
    BEGIN
      SELECT jsonb_object_agg(namespace || '/' || model, jsonb_build_object('count', max_count - count, 'bytes', max_bytes - bytes)) INTO rest
        FROM (SELECT q.namespace, q.model, q.max_count, q.max_bytes, coalesce(u.count, 0) AS count, coalesce(u.bytes, 0) AS bytes
          FROM unnest(models, namespaces, counts, sizes) AS w(model, namespace, count, size)
            CROSS JOIN LATERAL (SELECT * FROM platform.quotas WHERE namespace = w.namespace AND model IN (w.model, ${allModels}) AND is_counted OFFSET 0) q
            LEFT JOIN ${usageOf('q')} u ON true
          GROUP BY q.namespace, q.model, q.max_count, q.max_bytes, u.count, u.bytes
          HAVING coalesce(u.count, 0) + sum(greatest(w.count, 0)) > q.max_count OR coalesce(u.bytes, 0) + sum(greatest(w.size, 0)) > q.max_bytes) tight;
      IF rest IS NULL THEN RETURN refused; END IF;
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
];
