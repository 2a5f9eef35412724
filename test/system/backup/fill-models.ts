import { Database, migrate, silentLog } from '#pkg/database/index';
import { accessMigrations } from '#pkg/access/index';
import type { IndexDefinition } from '#pkg/apimachinery/index';
import { PostgresStore } from '#pkg/storage/index';

const index = (name: string, rest: Partial<IndexDefinition>): IndexDefinition => ({
  name,
  path: name,
  type: 'string',
  multi: false,
  unique: false,
  nullable: true,
  ...rest,
});

/**
 * Writes millions of objects directly into the tables: each has two labels, a unique slug, a rank, tags, and repetitive
 * text.
 */
export async function fillModels(
  url: string,
  { objects, bytes, models }: { objects: number; bytes: number; models: number },
): Promise<void> {
  const database = await Database.connect({ url, log: silentLog });
  try {
    await migrate(database, 'access', accessMigrations);
    const store = await PostgresStore.open({ database, log: silentLog });
    for (let i = 1; i <= models; i += 1) {
      const plural = `things${i}`;
      await store.ensureModel({
        group: 'backup.example.com',
        names: { plural, singular: plural, kind: 'Thing', listKind: 'ThingList', shortNames: [], categories: [] },
        scope: 'Namespaced',
        indexes: [
          index('spec.slug', { unique: true }),
          index('spec.rank', { type: 'integer' }),
          index('spec.tags', { path: 'spec.tags[*]', multi: true }),
        ],
      });
    }
    await store.close();
    const { rows } = await database.pool.query<{ id: number }>(
      "SELECT id FROM platform.models WHERE api_group = 'backup.example.com' ORDER BY id",
    );
    for (const [i, { id }] of rows.entries()) {
      const text = `repeat(md5(n::text) || ' some words of a text that has some more, ', ${Math.max(1, Math.round((bytes - 420) / 74))})`;
      await database.pool.query(
        `INSERT INTO platform.m_${id} (namespace, name, rev, uid, created, labels, fingerprint, body, i_1, i_2, i_3)
         SELECT 'ns-' || n % 100, 'thing-' || n, n, u, now(), ARRAY['app', 'app=a' || n % 10, 'tier', 'tier=t' || n % 3], md5(n::text),
           '{"apiVersion":"backup.example.com/v1","kind":"Thing","metadata":{"name":"thing-' || n || '","namespace":"ns-' || n % 100 || '","uid":"' || u || '","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"a' || n % 10 || '","tier":"t' || n % 3 || '"}},"spec":{"slug":"slug-' || n || '","rank":' || n % 1000 || ',"tags":["t' || n % 50 || '","all"],"text":"' || ${text} || '"}}',
           'slug-' || n, n % 1000, ARRAY['t' || n % 50, 'all']
         FROM generate_series($1::int, $2::int) n, LATERAL (SELECT gen_random_uuid() AS u WHERE n > 0) r`,
        [Math.floor((objects * i) / models) + 1, Math.floor((objects * (i + 1)) / models)],
      );
    }
    await database.pool.query("SELECT setval('platform.revision', $1)", [objects + 1000]);
  } finally {
    await database.close();
  }
}
