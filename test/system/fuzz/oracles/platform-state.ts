import type pg from 'pg';
import { group } from '../fuzz-targets.ts';
import type { State } from './state-digest.ts';

interface ModelRow {
  id: number;
  api_group: string;
  shape: string;
}

/** The state of the content platform. */
export async function readPlatformState(client: pg.Client): Promise<State> {
  const { rows: models } = await client.query<ModelRow>(
    'SELECT id, api_group, shape::text || columns::text AS shape FROM platform.models ORDER BY id',
  );
  const isOwn = ({ api_group }: ModelRow): boolean => api_group === group;
  const ids = models
    .filter(isOwn)
    .map(({ id }) => id)
    .join(', ');
  const facts = `SELECT 0 AS id, (SELECT max(rev) FROM platform.change_log WHERE model IN (${ids}))::text || '/' || (SELECT count(*) FROM platform.idempotency_keys)::text AS digest`;
  const { rows } = await client.query<{ id: number; digest: string }>(
    [facts, ...models.map(contentOf)].join(' UNION ALL '),
  );
  const digestOf = (chosen: readonly ModelRow[]): unknown =>
    chosen.map((model) => [model, rows.find(({ id }) => id === model.id)?.digest]);
  const others = models.filter((model) => !isOwn(model));
  return {
    own: JSON.stringify([rows.find(({ id }) => id === 0), digestOf(models.filter(isOwn))]),
    others: JSON.stringify(digestOf(others)),
  };
}

function contentOf({ id }: ModelRow): string {
  return `SELECT ${id}, md5(coalesce(string_agg(md5(t::text), '' ORDER BY namespace, name), '')) FROM platform.m_${id} t`;
}
