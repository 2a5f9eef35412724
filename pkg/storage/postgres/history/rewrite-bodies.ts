import type { Pool } from 'pg';
import type { GroupResource, ObjectKey } from '#pkg/apimachinery/index';
import { selectModel, type ModelRow } from '../table/table-catalog.ts';
import { tableName } from '../table/table.ts';

/** Returns the new text of an object, of the same length, or undefined to leave it. */
export type RewriteBody = (body: string, key: ObjectKey, isCurrent: boolean) => string | undefined;

export interface RewriteBodiesOptions {
  resource: GroupResource;
  /** With it the text of an outcome begins that an idempotency key has without a change: `{"apiVersion":"v1","kind":...`. */
  bodyStart: string;
  rewrite: RewriteBody;
  /** Rows per statement. Default 50. */
  batchSize?: number;
}

interface Row extends ObjectKey {
  rev: string;
  old: string | null;
  new: string | null;
}

/**
 * Rewrites the stored texts of a model in place: of its objects (`isCurrent`), of its history, and of outcomes that
 * idempotency keys remember. That is no change: it has no revision and no event. Servers may write meanwhile; what they
 * write is not rewritten. Does nothing if the model does not exist.
 */
export async function rewriteBodies(
  pool: Pool,
  { resource, bodyStart, rewrite, batchSize = 50 }: RewriteBodiesOptions,
): Promise<void> {
  const { rows: schemas } = await pool.query<{ exists: boolean }>(
    "SELECT to_regclass('platform.models') IS NOT NULL AS exists",
  );
  if (schemas[0]?.exists !== true) return;
  const { rows: models } = await pool.query<ModelRow>(selectModel, [resource.group, resource.resource]);
  const model = models[0];
  if (model === undefined) return;
  await rewriteObjects(pool, { model, rewrite, batchSize });
  await rewriteHistory(pool, { model, rewrite, batchSize });
  await rewriteOutcomes(pool, { bodyStart, rewrite, batchSize });
}

interface Part {
  rewrite: RewriteBody;
  batchSize: number;
}

async function rewriteObjects(pool: Pool, { model, rewrite, batchSize }: Part & { model: ModelRow }): Promise<void> {
  const table = tableName(model);
  let after: ObjectKey = { namespace: '', name: '' };
  for (let isDone = false; !isDone;) {
    const { rows } = await pool.query<ObjectKey & { rev: string; body: string }>(
      `SELECT namespace, name, rev, body FROM ${table} WHERE (namespace, name) > ($1, $2) ORDER BY namespace, name LIMIT $3`,
      [after.namespace, after.name, batchSize],
    );
    const changed = rows.flatMap((row) => {
      const body = rewrite(row.body, row, true);
      return body === undefined ? [] : [{ ...row, body }];
    });
    // A later write of the object has another revision, and stays.
    if (changed.length > 0)
      await pool.query(
        `UPDATE ${table} t SET body = n.body FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS n (namespace, name, rev, body)
         WHERE t.namespace = n.namespace AND t.name = n.name AND t.rev = n.rev`,
        [
          changed.map(({ namespace }) => namespace),
          changed.map(({ name }) => name),
          changed.map(({ rev }) => rev),
          changed.map(({ body }) => body),
        ],
      );
    after = rows.at(-1) ?? after;
    isDone = rows.length < batchSize;
  }
}

async function rewriteHistory(pool: Pool, { model, rewrite, batchSize }: Part & { model: ModelRow }): Promise<void> {
  let after = '0';
  for (let isDone = false; !isDone;) {
    const { rows } = await pool.query<Row>(
      'SELECT rev, namespace, name, old, new FROM platform.change_log WHERE model = $1 AND rev > $2 ORDER BY rev LIMIT $3',
      [model.id, after, batchSize],
    );
    const changed = rows.flatMap((row) => {
      const [older, newer] = [row.old, row.new].map((body) => (body === null ? undefined : rewrite(body, row, false)));
      return older === undefined && newer === undefined
        ? []
        : [{ rev: row.rev, old: older ?? row.old, new: newer ?? row.new }];
    });
    if (changed.length > 0)
      await pool.query(
        `UPDATE platform.change_log c SET old = n.old, new = n.new FROM unnest($1::bigint[], $2::text[], $3::text[]) AS n (rev, old, new)
         WHERE c.rev = n.rev`,
        [changed.map(({ rev }) => rev), changed.map((row) => row.old), changed.map((row) => row.new)],
      );
    after = rows.at(-1)?.rev ?? after;
    isDone = rows.length < batchSize;
  }
}

async function rewriteOutcomes(
  pool: Pool,
  { bodyStart, rewrite, batchSize }: Part & { bodyStart: string },
): Promise<void> {
  let after = ['', '', '', ''];
  for (let isDone = false; !isDone;) {
    const { rows } = await pool.query<ObjectKey & Record<'username' | 'method' | 'path' | 'key' | 'body', string>>(
      `SELECT username, method, path, key, namespace, name, body FROM platform.idempotency_keys
         WHERE starts_with(body, $5) AND (username, method, path, key) > ($1, $2, $3, $4)
         ORDER BY username, method, path, key LIMIT $6`,
      [...after, bodyStart, batchSize],
    );
    for (const row of rows) {
      const body = rewrite(row.body, row, false);
      if (body !== undefined)
        await pool.query(
          'UPDATE platform.idempotency_keys SET body = $5 WHERE username = $1 AND method = $2 AND path = $3 AND key = $4',
          [row.username, row.method, row.path, row.key, body],
        );
    }
    const last = rows.at(-1);
    if (last !== undefined) after = [last.username, last.method, last.path, last.key];
    isDone = rows.length < batchSize;
  }
}
