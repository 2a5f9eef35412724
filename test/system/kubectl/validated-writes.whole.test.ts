import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { killPrograms, startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { describeKubectls, KubectlUser } from './kubectls.ts';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'posts.writes.example.com' },
  spec: {
    group: 'writes.example.com',
    scope: 'Namespaced',
    names: { kind: 'Post', plural: 'posts', singular: 'post' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                description: 'What the author wants.',
                required: ['title'],
                properties: {
                  title: { type: 'string', description: 'The head line.' },
                  tags: { type: 'array', items: { type: 'string' } },
                  port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
                  links: { type: 'object', additionalProperties: { type: 'string' } },
                  more: {
                    type: 'object',
                    'x-kubernetes-preserve-unknown-fields': true,
                    properties: { known: { type: 'string' } },
                  },
                  author: { type: 'object', nullable: true, properties: { name: { type: 'string' } } },
                },
              },
            },
          },
        },
      },
      {
        name: 'v1beta1',
        served: true,
        storage: false,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const spec = { title: 'One', tags: ['a', 'b'], port: 'http', links: { home: '/' }, more: { free: [1] }, author: null };

function post(change: object = {}): object {
  return {
    apiVersion: 'writes.example.com/v1',
    kind: 'Post',
    metadata: { name: 'post', namespace: 'default' },
    spec: { ...spec, ...change },
  };
}

function configMap(fields: object): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'texts', namespace: 'default' }, ...fields };
}

let folder: string;
let served: Served;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-writes-'));
  served = await startServe(join(folder, 'data'));
  kubeconfig = String((await served.program.line('ready'))['kubeconfig']);
});

afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

// Each validates against OpenAPI before it writes: the old one against version 2 in protobuf.
describeKubectls((program) => {
  const user = (): KubectlUser =>
    new KubectlUser(program, { cacheDir: join(folder, 'cache'), flags: [`--kubeconfig=${kubeconfig}`] });
  const kubectl = (args: string[], env: Record<string, string> = {}): Promise<string> =>
    user().runWith({ env }, ...args);
  /** Runs a command with `-f` and these objects. */
  const withFile = (args: string[], ...objects: object[]): Promise<string> =>
    user().runWith({ input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }) }, ...args, '-f', '-');
  const shown = (resource: string, name: string, path: string): Promise<string> =>
    kubectl(['get', resource, name, '-o', `jsonpath={${path}}`]);

  beforeAll(async () => {
    await withFile(['apply'], definition);
    await kubectl(['wait', '--for=condition=Established', 'crd/posts.writes.example.com']);
  });

  beforeEach(async () => {
    await kubectl(['delete', 'posts/post', 'configmaps/texts', '--ignore-not-found']);
  });

  test('apply creates, leaves alone what is the same, changes, and removes fields', async () => {
    const first = [post(), configMap({ data: { a: '1', b: '2' } })];
    expect(await withFile(['apply'], ...first)).toBe('post.writes.example.com/post created\nconfigmap/texts created\n');
    expect(await withFile(['apply'], ...first)).toBe(
      'post.writes.example.com/post unchanged\nconfigmap/texts unchanged\n',
    );
    const second = [post({ title: 'Two', links: undefined }), configMap({ data: { a: '3' } })];
    expect(await withFile(['apply', '--dry-run=server'], ...second)).toBe(
      'post.writes.example.com/post configured (server dry run)\nconfigmap/texts configured (server dry run)\n',
    );
    expect(await shown('post', 'post', '.spec.title')).toBe('One');
    await withFile(['apply'], ...second);
    // Whether a merge patch of kubectl names a null that was there before depends on its version.
    const { author, ...rest } = JSON.parse(await shown('post', 'post', '.spec')) as typeof spec;
    expect(author ?? null).toBeNull();
    expect(rest).toEqual({ title: 'Two', tags: ['a', 'b'], port: 'http', more: { free: [1] } });
    expect(JSON.parse(await shown('configmap', 'texts', '.data'))).toEqual({ a: '3' });
  });

  test.each([
    ['a field that a model does not have', post({ titel: 'x' }), 'titel'],
    ['a required field of a model that is absent', post({ title: undefined }), 'title'],
    ['a value of another type', post({ tags: 'a' }), 'tags'],
    ['a field that a built-in kind does not have', configMap({ date: { a: '1' } }), 'date'],
  ])('create refuses %s', async (_reason, object, field) => {
    await expect(withFile(['create', '--validate=true'], object)).rejects.toThrow(field);
  });

  test('create takes any object of a version that keeps unknown fields', async () => {
    const free = { ...post({ free: { deep: [{}] } }), apiVersion: 'writes.example.com/v1beta1', top: 1 };
    expect(await withFile(['create', '--validate=true'], free)).toBe('post.writes.example.com/post created\n');
  });

  test('edit changes an object of a model, and of a built-in kind', async () => {
    await withFile(['create'], post(), configMap({ data: { a: 'One' } }));
    for (const resource of ['post/post', 'configmap/texts'])
      expect(await kubectl(['edit', resource], { KUBE_EDITOR: 'sed -i s/One/Two/' })).toContain('edited');
    expect(await shown('post', 'post', '.spec.title')).toBe('Two');
    expect(await shown('configmap', 'texts', '.data.a')).toBe('Two');
  });

  test('explain describes fields of a model, and of a built-in kind', async () => {
    const explained = await kubectl(['explain', 'post.spec']);
    expect(explained).toContain('What the author wants.');
    expect(explained).toMatch(/title\s+<string> -required-\s+The head line\./);
    expect(explained).toMatch(/tags\s+<\[\]string>/);
    expect(explained).toMatch(/links\s+<map\[string\]string>/);
    expect(await kubectl(['explain', 'post.metadata.finalizers'])).toContain('Who must let go');
    expect(await kubectl(['explain', 'configmap.data'])).toContain('Texts, by key.');
  });
});
