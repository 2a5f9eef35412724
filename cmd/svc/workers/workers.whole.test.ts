import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';
import { issueCertificate, makeAuthority } from '../tls/local-authority.ts';

const token = newPersonalToken();
const greeting = '/apis/api.greet.example.com/v1/greetings/ann';
const manifest = `
apiVersion: plugin.svc.run/v1alpha1
kind: Plugin
metadata: { name: greet }
spec: { version: 1.0.0, enabled: true }
`;
const source = `
import { definePlugin, defineEndpoint } from '@svc/sdk';
export default definePlugin({ endpoints: [
  defineEndpoint({ group: 'greet.example.com', version: 'v1', audience: 'public', method: 'GET', path: '/greetings/{name}', summary: 'Greet somebody',
    handler: async ({ params }) => ({ text: params.name, by: process.pid }) }),
] });
`;

let home: TestDatabase;
let folder: string;
beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-workers-'));
  await chmod(folder, 0o711);
  await mkdir(join(folder, 'plugins/greet'), { recursive: true });
  await writeFile(join(folder, 'plugins/greet/plugin.yaml'), manifest);
  await writeFile(join(folder, 'plugins/greet/index.js'), source);
});
afterEach(killPrograms);
afterAll(async () => {
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  text: string;
}

/** A server of two workers, asked on a new connection each time. */
class Site {
  readonly program: Program;
  url = '';
  tlsUrl = '';
  accessUrl = '';

  constructor(...args: string[]) {
    this.program = new Program([
      'serve',
      '--svc.server.workers=2',
      '--svc.server.port=0',
      `--svc.data.dir=${join(folder, 'data')}`,
      `--svc.plugins.dir=${join(folder, 'plugins')}`,
      `--svc.database.url=${databaseUrlOf(home)}`,
      `--svc.security.initial-admin-token=${token}`,
      ...args,
    ]);
  }

  async ready(): Promise<this> {
    const { url, tlsUrl, accessUrl } = await this.program.line('ready');
    Object.assign(this, { url, tlsUrl, accessUrl });
    return this;
  }

  /** The process ids of each worker, newest last. */
  pidsOf(worker: number): number[] {
    return this.program
      .lines()
      .filter((line) => line['msg'] === 'a worker serves' && line['worker'] === worker)
      .map(({ pid }) => Number(pid));
  }

  open(
    path: string,
    { method = 'GET', body = '', type = 'application/json', base = this.url } = {},
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(`${base}${path}`, {
        method,
        agent: false,
        headers: { authorization: `Bearer ${token}`, ...(body === '' ? {} : { 'content-type': type }) },
      });
      sent.once('response', resolve).once('error', reject).end(body);
    });
  }

  async ask(path: string, options: Parameters<Site['open']>[1] = {}): Promise<Answer> {
    const answer = await this.open(path, options);
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode ?? 0, text };
  }

  async json(path: string, options: Parameters<Site['open']>[1] = {}): Promise<Record<string, unknown>> {
    return JSON.parse((await this.ask(path, options)).text) as Record<string, unknown>;
  }

  async createNamespace(name: string): Promise<void> {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    expect((await this.ask('/api/v1/namespaces', { method: 'POST', body })).status).toBe(201);
  }
}

interface NamespaceEvent {
  type: string;
  object: { metadata: { name: string; resourceVersion: string } };
}

/** A watch of namespaces that resumes where it was when it ends, on whichever worker. */
class ResumingWatch {
  readonly names: string[] = [];
  breaks = 0;
  #revision: string;
  #answer: IncomingMessage | undefined;
  #isClosed = false;

  constructor(revision: string) {
    this.#revision = revision;
  }

  /** Resolves with the status once it is open. */
  async begin(site: Site): Promise<number> {
    const answer = await site.open(`/api/v1/namespaces?watch=true&resourceVersion=${this.#revision}`);
    if (answer.statusCode !== 200) {
      answer.resume();
      return answer.statusCode ?? 0;
    }
    this.#answer = answer;
    let text = '';
    answer.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
        const { type, object } = JSON.parse(text.slice(0, end)) as NamespaceEvent;
        this.#revision = object.metadata.resourceVersion;
        if (type === 'ADDED') this.names.push(object.metadata.name);
        text = text.slice(end + 1);
      }
    });
    answer.on('error', () => {});
    answer.once('close', () => {
      if (this.#isClosed) return;
      this.breaks += 1;
      void this.#resume(site);
    });
    return 200;
  }

  /** As clients do: it tries again, also where its place is not free yet. */
  async #resume(site: Site): Promise<void> {
    while (!this.#isClosed && (await this.begin(site).catch(() => 0)) !== 200) await pause(20);
  }

  close(): void {
    this.#isClosed = true;
    this.#answer?.destroy();
  }
}

const watching: ResumingWatch[] = [];
afterEach(() => watching.splice(0).forEach((watch) => watch.close()));

test('two workers share ports, limits, metrics, log level and certificate, and survive the death of each', async () => {
  const authority = await makeAuthority();
  const writeCertificate = async (): Promise<string> => {
    const { cert, key } = await issueCertificate(authority, ['localhost', '127.0.0.1']);
    await writeFile(join(folder, 'server.key'), key, { mode: 0o600 });
    await writeFile(join(folder, 'server.crt'), cert);
    return cert;
  };
  await writeCertificate();
  const site = await new Site(
    '--svc.http.max-watches-per-user=6',
    '--svc.http.max-connections-per-address=40',
    `--svc.tls.cert-file=${join(folder, 'server.crt')}`,
    `--svc.tls.key-file=${join(folder, 'server.key')}`,
  ).ready();
  const { program } = site;
  const requestsOf = (worker: number): number =>
    program.lines().filter((line) => line['msg'] === 'request' && line['worker'] === worker).length;

  // A level that the parent sets, or one worker, is that of all, and each line names its worker.
  program.child.kill('SIGUSR2');
  await pollUntil(async () => {
    await site.ask('/version');
    return requestsOf(1) > 0 && requestsOf(2) > 0;
  });
  await site.ask('/debug/flags/log-level', { method: 'PUT', body: 'info', type: 'text/plain' });
  await pollUntil(async () => {
    const levels = await Promise.all(Array.from({ length: 12 }, () => site.ask('/debug/flags/log-level')));
    return levels.every(({ text }) => text === 'info\n');
  });

  const metrics = (await site.ask('/metrics')).text;
  expect(metrics).toContain('svc_workers{state="serving",worker="0"} 2\n');
  for (const worker of [1, 2]) expect(metrics).toMatch(new RegExp(`^svc_models\\{worker="${worker}"\\} \\d+$`, 'm'));
  const titles = metrics.split('\n').filter((line) => line.startsWith('# TYPE'));
  expect(new Set(titles).size).toBe(titles.length);
  expect((await site.ask('/metrics', { base: site.accessUrl })).text).toMatch(/component="access-server",worker="2"/);

  // The plugin runs in the first worker; the other one passes calls on.
  const hosts = new Set<unknown>();
  await pollUntil(async () => (await site.ask(greeting)).status === 200);
  for (let i = 0; i < 20; i += 1) hosts.add((await site.json(greeting))['by']);
  expect([...hosts]).toEqual(site.pidsOf(1));

  // Exactly six watches, however they are spread.
  const { resourceVersion } = (await site.json('/api/v1/namespaces'))['metadata'] as { resourceVersion: string };
  const watches = Array.from({ length: 6 }, () => new ResumingWatch(resourceVersion));
  watching.push(...watches);
  expect(await Promise.all(watches.map((watch) => watch.begin(site)))).toEqual([200, 200, 200, 200, 200, 200]);
  expect(await new ResumingWatch(resourceVersion).begin(site)).toBe(429);

  // Exactly forty connections of an address, however they are spread.
  const { port, hostname } = new URL(site.url);
  const idle = Array.from({ length: 60 }, () => connect(Number(port), hostname).on('error', () => {}));
  await pollUntil(() => idle.filter(({ closed }) => !closed).length === 40 - watches.length);
  for (const socket of idle) socket.destroy();
  await pollUntil(() =>
    site.ask('/version').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );

  for (const victim of [2, 1]) {
    await site.createNamespace(`before-${victim}`);
    process.kill(site.pidsOf(victim).at(-1)!, 'SIGKILL');
    await pollUntil(
      () => program.lines().filter(({ msg }) => msg === 'a worker has ended; starting it again').length === 3 - victim,
    );
    // The other one serves meanwhile.
    await site.createNamespace(`after-${victim}`);
    expect((await site.ask('/readyz')).text).toBe('ok');
    await pollUntil(() => site.pidsOf(victim).length === 2);
  }
  expect((await site.ask('/metrics')).text).toContain('svc_worker_restarts_total{worker="0"} 2\n');
  // Each watch has each event once, in order; those of a worker broke with it, and their number is still limited.
  await pollUntil(() => watches.every(({ names }) => names.length >= 4));
  for (const { names } of watches) expect(names).toEqual(['before-2', 'after-2', 'before-1', 'after-1']);
  expect(watches.reduce((sum, { breaks }) => sum + breaks, 0)).toBeGreaterThan(0);
  expect(await new ResumingWatch(resourceVersion).begin(site)).toBe(429);
  // The new first worker took the plugin over at once: the one before is known to be gone.
  await pollUntil(async () => (await site.ask(greeting)).status === 200);
  expect((await site.json(greeting))['by']).toBe(site.pidsOf(1).at(-1));
  expect(program.lines().some(({ msg }) => msg === 'a host is dead: the others take over its tasks')).toBe(true);

  const renewed = await writeCertificate();
  const offered = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const at = new URL(site.tlsUrl);
      const socket = connectTls({ port: Number(at.port), host: at.hostname, ca: authority.cert }, () => {
        resolve(socket.getPeerX509Certificate()!.toString().trim());
        socket.destroy();
      });
      socket.once('error', reject);
    });
  // Each of so many connections: both workers have it.
  await pollUntil(async () => {
    const all = await Promise.all(Array.from({ length: 12 }, offered));
    return all.every((certificate) => certificate === renewed.trim());
  });

  const pids = [1, 2].map((worker) => site.pidsOf(worker).at(-1)!);
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  expect(pids.filter(isRunning)).toEqual([]);
  expect(program.lines().filter(({ msg }) => msg === 'stopped')).toHaveLength(3);
});

test('workers end with their parent, and a start that fails says why once', async () => {
  const site = await new Site().ready();
  const pids = [1, 2].flatMap((worker) => site.pidsOf(worker));
  const second = new Program([
    'serve',
    '--svc.server.workers=2',
    `--svc.server.port=${new URL(site.url).port}`,
    `--svc.data.dir=${join(folder, 'other')}`,
    `--svc.database.url=${databaseUrlOf(home)}`,
  ]);
  expect(await second.exited).toBe(1);
  expect(second.stderr).toMatch(
    /^svc: Port \d+ on 127.0.0.1 is in use by another program; stop that, or choose another port with --svc.server.port.\n$/,
  );
  site.program.child.kill('SIGKILL');
  await pollUntil(() => !pids.some(isRunning));
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
