import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newPersonalToken } from '#pkg/identity/index';
import type { BuildInfo } from '../../../hack/builds/build-info.mjs';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { LoopbackAddresses } from '../harness/process/loopback.ts';
import { ContainedProgram, type ContainedOptions } from './contained-program.ts';
import { repository } from '../../../hack/image/dockerfile.ts';
import { PasswordPostgres } from './password-postgres.ts';

const startTimeoutMs = 60_000;
const password = 'nine quiet lanterns';
const blog = '/apis/blog.example.com/v1';

export interface RunningCheck {
  folder: string;
  /** The version that was given to the image. */
  told: BuildInfo;
  /** Called with each finished step. */
  say: (what: string) => void;
}

/** Runs the first steps of a user in the image; throws an Error that describes a failure. */
export async function checkRunning(
  image: Omit<ContainedOptions, 'mounted'>,
  { folder, told, say }: RunningCheck,
): Promise<void> {
  const mounted = join(folder, 'mounted');
  const token = newPersonalToken();
  await mkdir(mounted);
  await cp(join(repository, 'config/samples/plugins/blog'), join(mounted, 'plugins/blog'), { recursive: true });
  const loopback = new LoopbackAddresses();
  const addresses = {
    apiserver: loopback.take(),
    'access-server': loopback.take(),
    'controller-manager': loopback.take(),
  };
  const postgres = await PasswordPostgres.startAt(loopback.take(), join(folder, 'postgres'));
  const programs: ContainedProgram[] = [];
  const run = (args: readonly string[], environment: Record<string, string> = {}): ContainedProgram => {
    const program = new ContainedProgram(
      { ...image, mounted, environment: { ...image.environment, ...environment } },
      args,
    );
    programs.push(program);
    return program;
  };
  try {
    // World-readable, as mounted secret files may have to be.
    await writeFile(
      join(mounted, 'secrets.yaml'),
      `svc.database.url: ${postgres.url()}\nsvc.security.initial-admin-token: ${token}\nsvc.security.initial-admin-password: ${password}\nsvc.security.key: ${'5e'.repeat(32)}\n`,
    );
    await writeFile(join(mounted, 'controller-manager-token'), newPersonalToken());
    const version = run(['version']);
    await expectEnd(version, 0, /./);
    if (version.output.trim() !== told.version)
      throw new Error(`it reports version ${version.output.trim()} instead of ${told.version}`);
    await expectEnd(run(['apiserver']), 1, /svc\.database\.url/);
    await expectEnd(run(['serve'], { SVC_SECURITY_INITIAL_ADMIN_TOKEN: token }), 1, /svc\.database\.url/);
    await expectEnd(run(['migrate', '--config', '/mnt']), 0, /./);
    say('migrated over TCP with a password; reported a missing svc.database.url');
    const api = `http://${addresses.apiserver}:8090`;
    const access = `http://${addresses['access-server']}:8091`;
    const servers = [
      run(['apiserver', '--config', '/mnt'], {
        SVC_SERVER_HOST: addresses.apiserver,
        SVC_SECURITY_CONTROLLER_MANAGER_TOKEN_FILE: '/mnt/controller-manager-token',
      }),
      run(['access-server', '--config', '/mnt'], {
        SVC_ACCESS_HOST: addresses['access-server'],
        SVC_ACCESS_API_URL: api,
      }),
      run(['controller-manager'], {
        SVC_SERVER_HOST: addresses['controller-manager'],
        SVC_CONTROLLERS_API_URL: api,
        SVC_CONTROLLERS_TOKEN_FILE: '/mnt/controller-manager-token',
        SVC_PLUGINS_DIR: '/mnt/plugins',
      }),
    ];
    for (const url of [api, access, `http://${addresses['controller-manager']}:8092`]) await ready(url, servers);
    say('ready: apiserver, access-server, controller-manager');
    for (const url of [api, access]) {
      const { svcVersion, gitCommit } = (await (await fetch(`${url}/version`)).json()) as Record<string, unknown>;
      if (svcVersion !== told.version || gitCommit !== told.commit)
        throw new Error(
          `${url}/version reports ${String(svcVersion)} and ${String(gitCommit)} instead of ${told.version}`,
        );
    }
    say(`/version reports ${told.version}`);
    const login = await ask(`${access}/api/v1/authentication/auth/`, {
      method: 'POST',
      body: { username: 'admin', password },
    });
    if (login.status !== 201) throw new Error(`the login was answered ${login.status}: ${JSON.stringify(login.body)}`);
    say('logged in: argon2 works');
    await usePlugin(api, token);
    say('the sample plugin runs; created, listed and watched its objects: esbuild works');
    const began = performance.now();
    for (const server of servers) server.signal('SIGTERM');
    for (const server of servers) await expectEnd(server, 0, /./);
    say(`stopped within ${((performance.now() - began) / 1000).toFixed(1)} s of SIGTERM, with 0`);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${programs.map(({ output }) => output.slice(-1500)).join('\n')}`, {
      cause: error,
    });
  } finally {
    for (const program of programs) program.signal('SIGKILL');
    await Promise.all(programs.map((program) => program.ended()));
    await postgres.stop();
  }
}

async function expectEnd(program: ContainedProgram, code: number, says: RegExp): Promise<void> {
  const ended = await Promise.race([
    program.ended(),
    new Promise<'still runs'>((resolve) => void setTimeout(resolve, startTimeoutMs, 'still runs').unref()),
  ]);
  if (ended !== code || !says.test(program.output))
    throw new Error(`expected exit code ${code} and ${String(says)}, got ${ended}:\n${program.output.slice(-3000)}`);
}

async function ready(url: string, servers: readonly ContainedProgram[]): Promise<void> {
  const over = (): ContainedProgram | undefined => servers.find((server) => server.hasEnded);
  await retryUntilTrue(async () => over() !== undefined || (await fetch(`${url}/readyz`)).ok, {
    what: `${url} is ready`,
    timeoutMs: startTimeoutMs,
  });
  const ended = over();
  if (ended !== undefined) throw new Error(`a program ended:\n${ended.output.slice(-3000)}`);
}

async function usePlugin(api: string, bearer: string): Promise<void> {
  const plugin = `${api}/apis/plugin.svc.run/v1alpha1/plugins/blog`;
  await retryUntilTrue(async () => (await ask(plugin, { bearer })).status === 200, {
    what: 'the plugin is seen',
    timeoutMs: startTimeoutMs,
  });
  await ask(plugin, { method: 'PATCH', body: { spec: { enabled: true } }, bearer });
  await retryUntilTrue(async () => (await ask(plugin, { bearer })).body['status']?.['phase'] === 'Started', {
    what: 'the plugin runs',
    timeoutMs: startTimeoutMs,
  });
  const post = {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name: 'first' },
    spec: { title: 'First', slug: 'first', publish: true },
  };
  const created = await ask(`${api}${blog}/posts`, { method: 'POST', body: post, bearer });
  if (created.status !== 201)
    throw new Error(`the post was answered ${created.status}: ${JSON.stringify(created.body)}`);
  const revision = String(created.body['metadata']?.['resourceVersion']);
  const watched = await fetch(`${api}${blog}/posts?watch=true&resourceVersion=${revision}&timeoutSeconds=20`, {
    headers: { authorization: `Bearer ${bearer}` },
  });
  const reader = watched.body!.pipeThrough(new TextDecoderStream()).getReader();
  // The plugin's controller publishes it, which changes its status.
  let events = '';
  while (!events.includes('Published')) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the watch ended without the change: ${events}`);
    events += value;
  }
  await reader.cancel();
  await retryUntilTrue(
    async () => JSON.stringify((await ask(`${api}${blog}/posts`, { bearer })).body).includes('"first"'),
    {
      what: 'the post is listed',
      timeoutMs: startTimeoutMs,
    },
  );
}

interface Call {
  method?: string;
  body?: object;
  bearer?: string;
}

async function ask(
  url: string,
  { method = 'GET', body, bearer }: Call,
): Promise<{ status: number; body: Record<string, Record<string, unknown>> }> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = {
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    ...(body === undefined ? {} : { 'content-type': type }),
  };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return { status: answer.status, body: (await answer.json()) as Record<string, Record<string, unknown>> };
}
