import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { startAccessTest } from './accesstest/start-access-test.ts';
import { newAccessConflict, newAccessNotFound } from './http/access-error.ts';
import type { Operation } from './operations/operation.ts';

test('a refused transaction keeps its connection', async () => {
  const refusals: Operation[] = [
    {
      method: 'POST',
      path: '/missing/',
      operationId: 'missing',
      access: 'open',
      handle: () => server.access.transaction(() => Promise.reject(newAccessNotFound())),
    },
    {
      method: 'POST',
      path: '/conflict/',
      operationId: 'conflict',
      access: 'open',
      handle: () => server.access.transaction(() => Promise.reject(newAccessConflict('taken'))),
    },
  ];
  const server = await startAccessTest({ operations: () => refusals });
  try {
    await server.send('POST', '/missing/');
    let lost = 0;
    server.access.pool.on('remove', () => {
      lost += 1;
    });
    for (let i = 0; i < 3; i += 1) {
      expect(await server.send('POST', '/missing/')).toMatchObject({ status: 404 });
      expect(await server.send('POST', '/conflict/')).toMatchObject({ status: 409 });
    }
    expect(lost).toBe(0);
  } finally {
    await server.stop();
  }
});

test('lists use the pool and the timeout of all other statements', async () => {
  const server = await startAccessTest({ operations: () => [] });
  try {
    const { pool, kysely } = server.access;
    let count = 0;
    pool.on('acquire', () => {
      count += 1;
    });
    const { rows } = await sql<{ timeout: string }>`SELECT current_setting('statement_timeout') AS timeout`.execute(
      kysely,
    );
    expect([rows, count]).toEqual([[{ timeout: '10s' }], 1]);
  } finally {
    await server.stop();
  }
});
