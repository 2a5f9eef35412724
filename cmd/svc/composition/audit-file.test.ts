import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { OperatorError } from '../options/operator-error.ts';
import { AuditFile } from './audit-file.ts';

let folder: string;
let path: string;
let dropped: number;
let logged: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-audit-file-'));
  path = join(folder, 'audit.log');
  dropped = 0;
  logged = [];
});
afterEach(() => rm(folder, { recursive: true }));

function open(at = path): Promise<AuditFile> {
  const log = pino({ base: null, timestamp: false }, { write: (line) => void logged.push(line) });
  return AuditFile.open(at, {
    log,
    onDropped: (count) => {
      dropped += count;
    },
  });
}
const lines = async (at = path): Promise<string[]> => (await readFile(at, 'utf8')).split('\n').slice(0, -1);
const many = (prefix: string, count: number, length = 10): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix} ${i} ${'x'.repeat(length)}`);

test('events are lines, in order, also after what an earlier process wrote', async () => {
  const first = await open();
  first.write('before');
  await first.close();
  const events = many('event', 500, 20_000);
  const file = await open();
  for (const event of events) file.write(event);
  await file.close();
  expect(await lines()).toEqual(['before', ...events]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect({ dropped, logged }).toEqual({ dropped: 0, logged: [] });
});

test('a file that was moved away is made again, and no event is lost', async () => {
  const file = await open();
  file.write('first');
  await pollUntil(async () => (await lines()).length === 1);
  await rename(path, `${path}.1`);
  let sent = 1;
  await pollUntil(async () => {
    file.write(`event ${sent++}`);
    return (await stat(path).catch(() => undefined)) !== undefined;
  });
  await file.close();
  const all = [...(await lines(`${path}.1`)), ...(await lines())];
  expect(all).toEqual(['first', ...Array.from({ length: sent - 1 }, (_, i) => `event ${i + 1}`)]);
});

test('while the file cannot be made, events wait, and the last of too many are dropped', async () => {
  const inner = join(folder, 'inner');
  await mkdir(inner);
  const file = await open(join(inner, 'audit.log'));
  await rm(inner, { recursive: true });
  const [event] = many('event', 1, 1_000_000);
  await pollUntil(() => {
    file.write('small');
    return logged.length === 1;
  });
  expect(JSON.parse(logged[0]!)).toMatchObject({ msg: 'could not write to the audit file; trying again' });
  for (let i = 0; i < 20; i += 1) file.write(event!);
  expect(dropped).toBeGreaterThan(0);
  const before = dropped;
  await mkdir(inner);
  await pollUntil(async () => ((await stat(join(inner, 'audit.log')).catch(() => undefined))?.size ?? 0) > 14_000_000);
  await file.close();
  const kept = await lines(join(inner, 'audit.log'));
  expect(kept.filter((line) => line === event)).toHaveLength(20 - before);
  expect({ dropped, logged: logged.length }).toEqual({ dropped: before, logged: 1 });
});

test('a line that was cut is ended, so that the next one can be read', async () => {
  await writeFile(path, 'whole\ncut');
  const file = await open();
  file.write('next');
  await file.close();
  expect(await lines()).toEqual(['whole', 'cut', 'next']);
});

test('what comes after the end is counted, and written nowhere', async () => {
  const file = await open();
  file.write('event');
  const closed = file.close();
  file.write('late');
  await closed;
  file.write('later');
  expect({ kept: await lines(), dropped }).toEqual({ kept: ['event'], dropped: 2 });
});

test('what cannot be written at the end is counted', async () => {
  const inner = join(folder, 'inner');
  await mkdir(inner);
  const file = await open(join(inner, 'audit.log'));
  await rm(inner, { recursive: true });
  await pollUntil(() => {
    file.write('event');
    return logged.length === 1;
  });
  await file.close();
  expect(dropped).toBeGreaterThan(0);
});

test('a path that cannot be opened is refused with the option and the reason', async () => {
  const refused = await open(join(folder, 'missing', 'audit.log')).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OperatorError);
  expect((refused as Error).message).toMatch(
    /^svc\.audit\.log-file cannot be opened: .*missing\/audit\.log \(ENOENT\)\.$/,
  );
});
