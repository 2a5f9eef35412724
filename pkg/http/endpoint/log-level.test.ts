import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino, type Logger } from 'pino';
import { startTestServer, type TestAnswer, type TestHttpServer } from '../server/start-test-server.ts';
import { expressHandler } from './express-handler.ts';
import { logLevelEndpoint, logLevelPath } from './log-level.ts';

let log: Logger;
let lines: Record<string, unknown>[];
let started: TestHttpServer;

beforeEach(async () => {
  lines = [];
  log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) });
  started = await startTestServer(expressHandler([logLevelEndpoint(log)]));
});
afterEach(() => started.server.close({ drainTimeoutMs: 0 }));

const put = (body: string): Promise<TestAnswer> => started.send({ method: 'PUT', path: logLevelPath, body });

test('GET answers the level, and PUT changes it', async () => {
  expect((await started.send({ path: logLevelPath })).body.toString()).toBe('info\n');
  const answer = await put(' debug\n');
  expect([answer.status, answer.body.toString(), answer.headers['content-type']]).toEqual([
    200,
    'debug\n',
    'text/plain; charset=utf-8',
  ]);
  expect((await started.send({ path: logLevelPath })).body.toString()).toBe('debug\n');
  log.debug('now visible');
  expect(lines.at(-1)).toMatchObject({ msg: 'now visible' });
});

test('a change is logged whatever the levels hide', async () => {
  await put('silent');
  await put('error');
  expect(lines).toMatchObject([
    { msg: 'changed the log level', from: 'info', to: 'silent', clientAddress: '127.0.0.1' },
    { msg: 'changed the log level', from: 'silent', to: 'error', user: 'system:anonymous' },
  ]);
  log.warn('hidden');
  expect(lines).toHaveLength(2);
  expect(lines.map(({ requestId }) => typeof requestId)).toEqual(['string', 'string']);
});

test.each(['', 'verbose', 'DEBUG', '20', 'constructor', '"debug"', 'debug info'])(
  '%j is no level: 400',
  async (body) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    expect(answer.body.toString()).toContain(
      'the body must be a log level: one of trace, debug, info, warn, error, fatal, silent',
    );
    expect(log.level).toBe('info');
  },
);

test('a body that cannot be a level is not read', async () => {
  expect((await put('debug'.padEnd(65))).status).toBe(413);
});

test.each(['POST', 'DELETE', 'PATCH'])('%s is not allowed', async (method) => {
  const answer = await started.send({ method, path: logLevelPath });
  expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, PUT']);
});
