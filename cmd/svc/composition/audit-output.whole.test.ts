import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { killPrograms, startServe, type Program } from '../start-test-program.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-audit-output-'));
});
afterEach(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a server with the option and creates a namespace; returns the answer's Audit-Id once the server has stopped. */
async function createNamespace(logFile: string): Promise<{ auditId: string | null; program: Program }> {
  const { program, url, token } = await startServe(join(folder, 'data'), [`--svc.audit.log-file=${logFile}`]);
  const answer = await fetch(`${url}/api/v1/namespaces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'audited' } }),
  });
  expect(answer.status).toBe(201);
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  return { auditId: answer.headers.get('audit-id'), program };
}

const audited = (auditID: string | null): object =>
  expect.objectContaining({ kind: 'Event', auditID, verb: 'create', stage: 'ResponseComplete' });

test('svc.audit.log-file has the events once the server has stopped', async () => {
  const file = join(folder, 'audit.log');
  const { auditId } = await createNamespace(file);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(audited(auditId));
});

test('svc.audit.log-file=- writes them to stdout, between the lines of the log', async () => {
  const { auditId, program } = await createNamespace('-');
  expect(program.lines()).toContainEqual(audited(auditId));
});
