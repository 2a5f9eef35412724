import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { Database } from '#pkg/database/index';
import { availableConnections } from './available-connections.ts';

let home: TestDatabase;
beforeAll(async () => (home = await createTestDatabase()));
afterAll(() => home.drop());

test('those of the server, or fewer where role or database are limited', async () => {
  const database = await Database.connect({ connection: home.connection, log: pino({ level: 'silent' }) });
  const { pool } = database;
  const role = `limited_${process.pid}`;
  try {
    const { rows } = await pool.query<{ most: number }>("SELECT current_setting('max_connections')::int AS most");
    const most = rows[0]!.most;
    expect(await availableConnections(database)).toBe(most);
    await pool.query(`CREATE ROLE ${role} CONNECTION LIMIT 20`);
    const asRole = {
      pool: { query: (text: string) => runAs(role, text) },
    } as unknown as Parameters<typeof availableConnections>[0];
    expect(await availableConnections(asRole)).toBe(20);
    await pool.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`);
    expect(await availableConnections(asRole)).toBeLessThan(most);
    await pool.query(`ALTER DATABASE ${home.name} CONNECTION LIMIT 7`);
    expect(await availableConnections(asRole)).toBe(7);
  } finally {
    await pool.query(`ALTER DATABASE ${home.name} CONNECTION LIMIT -1`);
    await pool.query(`DROP ROLE IF EXISTS ${role}`);
    await database.close();
  }

  async function runAs(name: string, text: string): Promise<unknown> {
    const client = await pool.connect();
    try {
      await client.query(`SET ROLE ${name}`);
      return await client.query(text);
    } finally {
      await client.query('RESET ROLE');
      client.release();
    }
  }
});
