import type { PostgresPair } from './postgres-pair.ts';

/** What a failover or a restore changes in the database. */
export interface EpochState {
  /** Restores of which all history was declared void. */
  epoch: number;
  /** Failovers whose lost revisions are remembered. */
  gaps: number;
}

export async function readEpoch(pair: PostgresPair): Promise<EpochState> {
  const [row] = await pair.query<{ epoch: number; gaps: number }>(
    'SELECT epoch, (SELECT count(*)::int FROM platform.gaps) AS gaps FROM platform.meta',
  );
  return row ?? { epoch: 0, gaps: 0 };
}
