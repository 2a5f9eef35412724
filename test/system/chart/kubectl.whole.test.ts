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
