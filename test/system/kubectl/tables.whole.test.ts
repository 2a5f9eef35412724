import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { pollUntil, waitMs } from '../../../pkg/testenv/faults/poll-until.ts';
import { describeKubectls, KubectlUser, linesOf } from './kubectls.ts';

const columns = [
  { name: 'Title', type: 'string', jsonPath: '.spec.title' },
  { name: 'Priority', type: 'integer', jsonPath: '.spec.priority' },
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Published', type: 'date', jsonPath: '.spec.published' },
  { name: 'Tags', type: 'string', jsonPath: '.spec.tags', priority: 1 },
];

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'posts.tables.example.com' },
  spec: {
    group: 'tables.example.com',
    scope: 'Namespaced',
    names: { kind: 'Post', plural: 'posts', singular: 'post' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        additionalPrinterColumns: columns,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

function post(name: string, spec: object, more: object = {}): object {
  return {
    apiVersion: 'tables.example.com/v1',
    kind: 'Post',
    metadata: { name, namespace: 'default', labels: { lang: 'en' } },
    spec,
    ...more,
  };
}

let folder: string;
let served: Served;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tables-'));
  served = await startServe(join(folder, 'data'));
  kubeconfig = String((await served.program.line('ready'))['kubeconfig']);
  await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  const conditions = [
    { type: 'Synced', status: 'False' },
    { type: 'Ready', status: 'True' },
  ];
  const published = '2000-01-01T00:00:00Z';
  for (const object of [
    post('a', { title: 'Last', priority: 3, published, tags: ['x', 'y'] }, { status: { conditions } }),
    post('b', { title: 'First', priority: 1 }),
    post('c', { title: 'Middle', priority: 2 }),
  ])
    await create('/apis/tables.example.com/v1/namespaces/default/posts', object);
});

afterAll(async () => {
  served.program.child.kill('SIGTERM');
  await served.program.exited;
  await rm(folder, { recursive: true, force: true });
});

async function create(path: string, body: object): Promise<void> {
  const response = await fetch(`${served.url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${served.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

describeKubectls((kubectl) => {
  const user = (): KubectlUser =>
    new KubectlUser(kubectl, { cacheDir: join(folder, 'cache'), flags: [`--kubeconfig=${kubeconfig}`] });
  const run = async (...args: string[]): Promise<string> => user().run(...args);
  const shown = async (...args: string[]): Promise<string[]> => linesOf(await run(...args));
  const age = String.raw`\d+y(?:\d+d)?`;
  const head = 'NAME TITLE PRIORITY READY PUBLISHED';

  test('get shows the columns of the definition', async () => {
    expect(await shown('get', 'posts')).toEqual([
      head,
      expect.stringMatching(new RegExp(`^a Last 3 True ${age}$`)),
      'b First 1',
      'c Middle 2',
    ]);
    expect(await shown('get', 'posts', '--chunk-size=1', '--no-headers')).toHaveLength(3);
    expect(await shown('get', 'post', 'b', 'c')).toEqual([head, 'b First 1', 'c Middle 2']);
    expect(await shown('get', 'posts', '-l', 'lang=de')).toEqual(['']);
  });

  test('get -o wide shows those of a higher priority, too', async () => {
    expect(await shown('get', 'posts', 'a', '-o', 'wide')).toEqual([
      `${head} TAGS`,
      expect.stringMatching(new RegExp(String.raw`^a Last 3 True ${age} \["x","y"\]$`)),
    ]);
  });

  test('get -A and --show-labels use the metadata of the rows', async () => {
    const [first, ...rows] = await shown('get', 'posts', '-A', '--show-labels');
    expect(first).toBe(`NAMESPACE ${head} LABELS`);
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toMatch(/^default [abc] .* lang=en$/);
  });

  test('get --sort-by uses the objects of the rows', async () => {
    const names = async (path: string): Promise<unknown[]> =>
      (await shown('get', 'posts', '--no-headers', `--sort-by=${path}`)).map((line) => line.split(' ')[0]);
    expect(await names('.spec.priority')).toEqual(['b', 'c', 'a']);
    expect(await names('{.spec.title}')).toEqual(['b', 'a', 'c']);
  });

  test('get -w shows the columns once, and every change as it happens', async () => {
    const name = `watched-by-${kubectl.name}`;
    const file = join(folder, `${name}.json`);
    await writeFile(file, JSON.stringify(post(name, { title: 'One', priority: 9 })));
    const child = user().start('get', 'posts', '-w');
    try {
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const until = (line: string): Promise<void> =>
        pollUntil(() => linesOf(output).includes(line), waitMs(), `kubectl to show ${line} after ${output}`);
      await until('c Middle 2');
      await run('create', '-f', file);
      await until(`${name} One 9`);
      await run('patch', 'post', name, '--type=merge', '-p', '{"spec":{"title":"Two"}}');
      await until(`${name} Two 9`);
      expect(linesOf(output).filter((line) => line === head)).toHaveLength(1);
    } finally {
      child.kill('SIGKILL');
      await run('delete', 'post', name, '--ignore-not-found');
    }
  });

  test('built-in kinds have the columns that their users know', async () => {
    const headOf = async (...args: string[]): Promise<unknown> => (await shown('get', ...args))[0];
    expect(await headOf('namespaces')).toBe('NAME STATUS AGE');
    expect(await headOf('crds')).toBe('NAME CREATED AT');
    expect(await headOf('clusterroles')).toBe('NAME CREATED AT');
    expect(await headOf('clusterrolebindings')).toBe('NAME ROLE AGE');
    expect(await headOf('clusterrolebindings', '-o', 'wide')).toBe('NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS');
    expect(await headOf('leases', '-A')).toBe('NAMESPACE NAME HOLDER AGE');
    expect(await shown('get', 'namespace', 'default')).toEqual([
      'NAME STATUS AGE',
      expect.stringMatching(/^default Active \d+[sm]/),
    ]);
  });
});
