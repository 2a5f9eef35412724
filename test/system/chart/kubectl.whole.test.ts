import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { killPrograms, Program, startServe } from '../../../cmd/svc/start-test-program.ts';
import { issueCertificate, makeAuthority } from '../../../cmd/svc/tls/local-authority.ts';
import { describeWithHelm } from './render-chart.ts';
import { kubectl } from '../../../hack/helm/helm.mjs';

afterAll(killPrograms);

async function temporary(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'svc-kubectl-'));
}

describeWithHelm('kubectl, by data/kubeconfig', () => {
  test('creates a model, an object of it, watches, and asks for its permissions', async () => {
    const folder = await temporary();
    const { program } = await startServe(join(folder, 'data'));
    const { kubeconfig } = await program.line('ready');
    const run = (...args: string[]): Promise<string> => kubectl(['--kubeconfig', String(kubeconfig), ...args]);
    expect(await run('apply', '-f', 'config/samples/posts-definition.yaml')).toContain(
      'posts.blog.example.com created',
    );
    await run('wait', '--for=condition=Established', 'crd/posts.blog.example.com', '--timeout=20s');
    expect(await run('apply', '-f', 'config/samples/post-hello.yaml')).toContain('post.blog.example.com/hello created');
    // The request's timeout ends it after it has shown the existing objects.
    expect(await run('get', 'posts', '-o', 'name', '--watch', '--request-timeout=6s')).toContain(
      'post.blog.example.com/hello',
    );
    expect((await run('auth', 'can-i', '*', '*')).trim()).toBe('yes');
    expect(await run('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).toBe('admin');
    program.child.kill('SIGTERM');
    expect(await program.exited).toBe(0);
    await rm(folder, { recursive: true, force: true });
  });

  test('creates, edits and patches built-in kinds', async () => {
    const folder = await temporary();
    const file = (name: string): string => join(folder, name);
    const { program } = await startServe(file('data'));
    const { kubeconfig } = await program.line('ready');
    const run = (args: string[], editor?: string): Promise<string> =>
      kubectl(['--kubeconfig', String(kubeconfig), '-n', 'shop', ...args], editor === undefined ? {} : { editor });
    const { cert, key } = await issueCertificate(await makeAuthority(), ['shop.example.com']);
    await writeFile(file('tls.crt'), cert);
    await writeFile(file('tls.key'), key);

    for (const [what, ...args] of [
      ['namespace/shop', 'namespace', 'shop'],
      ['configmap/settings', 'configmap', 'settings', '--from-literal=colour=red'],
      ['secret/mail', 'secret', 'generic', 'mail', '--from-literal=password=s3cret'],
      ['secret/web', 'secret', 'tls', 'web', '--cert', file('tls.crt'), '--key', file('tls.key')],
      ['secret/hub', 'secret', 'docker-registry', 'hub', '--docker-username=a', '--docker-password=b'],
      ['role.rbac.authorization.k8s.io/reader', 'role', 'reader', '--verb=get', '--resource=configmaps'],
      [
        'clusterrole.rbac.authorization.k8s.io/shop-reader',
        'clusterrole',
        'shop-reader',
        '--verb=get',
        '--resource=secrets',
      ],
      ['rolebinding.rbac.authorization.k8s.io/readers', 'rolebinding', 'readers', '--role=reader', '--user=mia'],
      ['quota/few', 'quota', 'few', '--hard=count/configmaps=5'],
    ] as const)
      expect(await run(['create', ...args])).toContain(`${what.replace('quota/', 'resourcequota/')} created`);
    expect(await run(['get', 'secret', '--field-selector=type=kubernetes.io/tls', '-o', 'name'])).toBe('secret/web\n');

    expect(await run(['label', 'configmap', 'settings', 'a=b'])).toContain('labeled');
    expect(await run(['annotate', 'secret', 'mail', 'a=b'])).toContain('annotated');
    expect(await run(['patch', 'configmap', 'settings', '-p', '{"data":{"size":"1"}}'])).toContain('patched');
    expect(await run(['edit', 'configmap', 'settings'], 'sed -i s/red/blue/')).toContain('edited');
    expect(await run(['get', 'configmap', 'settings', '-o', 'jsonpath={.data} {.metadata.labels}'])).toBe(
      '{"colour":"blue","size":"1"} {"a":"b"}',
    );

    const manifest = (value: string): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'applied', finalizers: ['example.com/a'] },
      data: { value: Buffer.from(value).toString('base64') },
    });
    for (const [value, outcome] of [
      ['one', 'created'],
      ['two', 'configured'],
      ['two', 'unchanged'],
    ]) {
      await writeFile(file('secret.json'), JSON.stringify(manifest(value!)));
      expect(await run(['apply', '-f', file('secret.json')])).toContain(`secret/applied ${outcome!}`);
    }
    const applied = await run(['get', 'secret', 'applied', '-o', 'go-template={{.data.value | base64decode}}']);
    expect(applied).toBe('two');
    await expect(run(['patch', 'crd', 'none', '-p', '{}'])).rejects.toThrow('NotFound');
    expect(await run(['patch', 'secret', 'applied', '-p', '{"metadata":{"finalizers":null}}'])).toContain('patched');
    expect(await run(['delete', 'namespace', 'shop', '--timeout=50s'])).toContain('deleted');
    program.child.kill('SIGTERM');
    expect(await program.exited).toBe(0);
    await rm(folder, { recursive: true, force: true });
  });
});

test('a running program uses a new certificate, and trusts the authority of NODE_EXTRA_CA_CERTS', async () => {
  const folder = await temporary();
  const file = (name: string): string => join(folder, name);
  const authority = await makeAuthority();
  const write = async (): Promise<void> => {
    const { cert, key } = await issueCertificate(authority, ['127.0.0.1', 'svc.example.com']);
    for (const [name, text] of [
      ['tls.key', key],
      ['tls.crt', cert],
    ] as const) {
      await writeFile(file(`${name}.new`), text);
      await rename(file(`${name}.new`), file(name));
    }
  };
  await write();
  await writeFile(file('ca.crt'), authority.cert);
  const { program } = await startServe(file('data'), [
    `--svc.tls.cert-file=${file('tls.crt')}`,
    `--svc.tls.key-file=${file('tls.key')}`,
  ]);
  const { tlsUrl, tokenFile } = await program.line('ready');
  const serial = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(
        { port: Number(new URL(String(tlsUrl)).port), host: '127.0.0.1', ca: authority.cert },
        () => {
          resolve(socket.getPeerCertificate().serialNumber);
          socket.destroy();
        },
      ).on('error', reject);
    });
  const before = await serial();
  await write();
  await program.line('the certificate was replaced');
  expect(await serial()).not.toBe(before);
  expect(await readFile(file('data/kubeconfig'), 'utf8')).toContain('"tls-server-name": "svc.example.com"');

  const list = (environment: Record<string, string>): Promise<{ stdout: string }> =>
    promisify(execFile)(
      process.execPath,
      [
        '--conditions=source',
        '--import',
        'tsx',
        'cmd/svc/main.ts',
        'plugin',
        'list',
        '--server',
        String(tlsUrl),
        '--token-file',
        String(tokenFile),
      ],
      { env: { PATH: process.env['PATH'], ...environment } },
    );
  await expect(list({})).rejects.toThrow(/certificate/);
  expect((await list({ NODE_EXTRA_CA_CERTS: file('ca.crt') })).stdout).toMatch(/^NAME/);
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  await rm(folder, { recursive: true, force: true });
});

test('a taken https port is reported with its option', async () => {
  const folder = await temporary();
  const { program } = await startServe(join(folder, 'one'));
  const { tlsUrl } = await program.line('ready');
  const other = new Program([
    'serve',
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, 'two')}`,
    `--svc.server.tls.port=${new URL(String(tlsUrl)).port}`,
  ]);
  expect(await other.exited).toBe(1);
  expect(other.stderr).toMatch(/is in use by another program.*--svc\.server\.tls\.port/);
  program.child.kill('SIGTERM');
  await program.exited;
  await rm(folder, { recursive: true, force: true });
});
