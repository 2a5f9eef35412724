import type { RecordedDatabase } from './change-log-recorder.ts';
import type { SampleModel, WireObject } from './sample-models.ts';

/** The objects of a model in its table: marker and revision of each, by name, as `Follower` holds them. */
export async function readMarks(
  database: Pick<RecordedDatabase, 'query'>,
  { plural }: SampleModel,
): Promise<Map<string, string>> {
  const [model] = await database.query<{ id: number }>('SELECT id FROM platform.models WHERE resource = $1', [plural]);
  const rows = await database.query<{ rev: string; body: string }>(
    `SELECT rev, body FROM platform.m_${model?.id ?? 0}`,
  );
  return new Map(
    rows.map(({ rev, body }) => {
      const { metadata, spec } = JSON.parse(body) as WireObject;
      return [metadata.name, `${spec.marker} at ${rev}`];
    }),
  );
}
