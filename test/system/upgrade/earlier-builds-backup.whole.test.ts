import { cp, mkdir, mkdtemp, chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { buildOfCommit, hasCommit } from '../harness/build/build-of-commit.ts';
import { ServiceClient } from './service-client.ts';
import { landings } from './landings.ts';
import { ServerProcess, runProgram } from '../harness/process/server-process.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { environment, startBuild } from './start-build.ts';
import { shapeDifferences, shapeOf } from './shape.ts';
import { servicesOf } from './upgrade-in-place.ts';
import { differences, everything } from './fixtures/everything.ts';
import { fillFirst, fillSecond, useFilledDatabase } from './fixtures/filled-database.ts';

const here = fileURLToPath(new URL('../../..', import.meta.url));
/** Changes that the restoring version may make at its start. */
const ofTheProgram =
  /^(?:v1\/namespaces|rbac\.authorization\.k8s\.io\/v1\/clusterroles|plugin\.svc\.run\/[^ ]*|apiextensions\.k8s\.io\/v1\/customresourcedefinitions) |^rbac\.authorization\.k8s\.io\/v1\/clusterrolebindings \/system:/;
let folder: string;
let shape: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(defaultDataParent, 'svc-earlier-'));
  await chmod(folder, 0o711);
  const fresh = await serve(here, 'fresh');
  shape = await shapeOf(join(folder, 'fresh/data'));
  await fresh.program.stop('SIGTERM');
});
afterEach(() => ServerProcess.killAll());
afterAll(async () => rm(folder, { recursive: true, force: true }));

async function serve(build: string, name: string): Promise<{ program: ServerProcess; api: ServiceClient }> {
  const home = join(folder, name);
  await mkdir(home, { recursive: true });
  const program = startBuild({ build, command: 'serve', args: ['--svc.data.dir=data'], folder: home, name });
  const { platformUrl, token } = await servicesOf(program, home);
  return { program, api: new ServiceClient(platformUrl, `Bearer ${token}`) };
}

const releases = [landings[0]!, landings.at(-1)!];
const isShallow = !releases.every(({ commit }) => hasCommit(commit));
if (isShallow)
  process.stderr.write(
    'WARNING: this clone is shallow (git fetch --unshallow), so backups of earlier releases are skipped.\n',
  );

(isShallow ? test.skip : test).each(releases)(
  'the database of an earlier release ($word), backed up by this one, is restored and migrates on',
  async ({ commit, word }) => {
    const old = await serve((await buildOfCommit(commit)).folder, word);
    await fillFirst(old.api);
    const filled = await fillSecond(old.api);
    await old.program.stop('SIGTERM');

    const [before, after] = [join(folder, word), join(folder, `${word}-restored`)];
    await mkdir(join(after, 'data'), { recursive: true });
    const file = join(before, 'svc.backup');
    await runProgram({
      build: here,
      command: 'backup',
      args: ['--svc.data.dir=data', `--to=${file}`],
      folder: before,
      env: environment,
    });
    await runProgram({
      build: here,
      command: 'restore',
      args: ['--svc.data.dir=data', `--from=${file}`],
      folder: after,
      env: environment,
    });
    // The file has the first version's token, whose hash is in the database.
    await cp(join(before, 'data/admin-token'), join(after, 'data/admin-token'));
    const now = await serve(here, `${word}-restored`);
    expect(differences(filled.objects, await everything(now.api), (key) => ofTheProgram.test(key))).toEqual([]);
    expect(shapeDifferences(shape, await shapeOf(join(after, 'data')))).toEqual([]);
    expect(
      (await now.api.watch(`/api/v1/namespaces?watch=true&resourceVersion=${filled.position}`, () => true))[0],
    ).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    // Everything except the watch, which cannot be resumed.
    expect(
      (await useFilledDatabase(now.api, filled)).filter((problem) => !problem.startsWith('a watch from before')),
    ).toEqual([]);
    await now.program.stop('SIGTERM');
  },
);
