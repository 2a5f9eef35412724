import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { startAccessTest } from './accesstest/start-access-test.ts';

test('lists have the connections and the timeout of everything else', async () => {
  const server = await startAccessTest({ operations: () => [] });
  try {
    const { pool, kysely } = server.access;
    let count = 0;
    pool.on('acquire', () => {
      count += 1;
    });
    const { rows } = await sql<{ timeout: string }>`SELECT current_setting('statement_timeout') AS timeout`.execute(kysely);
    expect([rows, count]).toEqual([[{ timeout: '10s' }], 1]);
  } finally {
    await server.stop();
  }
});
