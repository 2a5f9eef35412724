import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceClient } from './service-client.ts';
import type { ServerProcess } from '../harness/process/server-process.ts';
import { startBuild, takes } from './start-build.ts';
import { shapeOf, shapeDifferences } from './shape.ts';
import { differences, everything } from './fixtures/everything.ts';
import { fillFirst, fillSecond, useFilledDatabase } from './fixtures/filled-database.ts';
import { addPeople, usePeople, type Services } from './fixtures/people.ts';
import { startPlugin, usePlugin } from './fixtures/plugin.ts';

export interface UpgradeOptions {
  /** Build of the earlier version, and of the new one. */
  readonly from: string;
  readonly to: string;
  /** How the old version ends. */
  readonly end: 'SIGTERM' | 'SIGKILL';
  /** Empty folder for the data. */
  readonly folder: string;
  /** The shape of a database that the new version created. */
  readonly shape: readonly string[];
}

/**
 * Fields that a new version may change: its own roles, the labels of namespaces, the status of models and plugins, and
 * the plugin's counts.
 */
const ofTheProgram =
  /^(?:v1\/namespaces|blog\.example\.com\/v1\/tags|rbac\.authorization\.k8s\.io\/v1\/clusterroles|plugin\.svc\.run\/[^ ]*|apiextensions\.k8s\.io\/v1\/customresourcedefinitions) |^rbac\.authorization\.k8s\.io\/v1\/clusterrolebindings \/system:/;

/**
 * One version fills a data folder and ends, the next one starts on it. Returns the problems, the number of objects, and
 * the duration of the start.
 */
export async function upgradeInPlace({
  from,
  to,
  end,
  folder,
  shape,
}: UpgradeOptions): Promise<{ problems: string[]; facts: string }> {
  await mkdir(join(folder, 'plugins'), { recursive: true });
  // Before access management there were no users, and plugins had permissions without requesting them.
  const hasUsers = takes(from, 'svc.access.token.ttl');
  if (hasUsers) await cp(join(from, 'config/samples/plugins/blog'), join(folder, 'plugins/blog'), { recursive: true });
  const serve = (build: string, name: string): ServerProcess =>
    startBuild({
      build,
      command: 'serve',
      args: ['--svc.data.dir=data', '--svc.plugins.dir=plugins'],
      folder,
      name,
    });

  const first = serve(from, 'old');
  await fillFirst(api(await servicesOf(first, folder)));
  await first.stop(end === 'SIGTERM' ? 'SIGKILL' : 'SIGTERM');
  const second = serve(from, 'old-again');
  const services = await servicesOf(second, folder);
  if (hasUsers) await startPlugin(api(services));
  const people = hasUsers
    ? await addPeople(services, { build: from, folder, args: ['--svc.data.dir=data'] })
    : undefined;
  const filled = await fillSecond(api(services));
  await second.stop(end);

  const began = performance.now();
  const upgraded = serve(to, 'new');
  const now = await servicesOf(upgraded, folder);
  const startMs = Math.round(performance.now() - began);
  const problems = differences(filled.objects, await everything(api(now)), (key) => ofTheProgram.test(key));
  if (now.token !== services.token) problems.push("the administrator's token is another one");
  problems.push(...(await useFilledDatabase(api(now), filled)));
  if (hasUsers) await usePlugin(api(now), 'after').catch((error: Error) => problems.push(error.message));
  if (people !== undefined) problems.push(...(await usePeople(now, people)));
  problems.push(...shapeDifferences(shape, await shapeOf(join(folder, 'data'))));
  const code = await upgraded.stop('SIGTERM');
  if (code !== 0) problems.push(`the new version ended with ${code}`);
  problems.push(...(await goBack(serve(from, 'back'), from, to)));
  return { problems, facts: `${filled.objects.size} objects, ready after ${startMs} ms` };
}

/** An older program must refuse to start, unless it is compatible with each newer step, and reads that it is. */
async function goBack(back: ServerProcess, from: string, to: string): Promise<string[]> {
  const started = await back.ready().then(
    () => true,
    () => false,
  );
  const code = started ? await back.stop('SIGTERM') : await back.exited;
  const known = new Set((await stepsOf(from)).map(({ name }) => name));
  const readsBeside = (await readMigrator(from)).includes("'beside'");
  const mayStart = (await stepsOf(to)).every(
    ({ name, beside }) => known.has(name) || (readsBeside && beside !== undefined && known.has(beside)),
  );
  if (mayStart)
    return started
      ? []
      : [
          `the old version did not start again, although it is compatible with the migrated database: ${back.log().slice(-2000)}`,
        ];
  if (started) return ['the old version started on a database that a newer one had changed'];
  return code === 1 && /^svc: Schema \w+ was migrated by a newer version of this program/m.test(back.log().slice(-2000))
    ? []
    : [`the old version refused the newer database with ${code}: ${back.log().slice(-2000)}`];
}

/** Builds of earlier versions have it elsewhere. */
async function readMigrator(build: string): Promise<string> {
  const folder = join(build, 'dist/pkg/database');
  const earlier = (): Promise<string> => readFile(join(folder, 'migrator.js'), 'utf8');
  return readFile(join(folder, 'migration/migrator.js'), 'utf8').catch(earlier);
}

interface Step {
  name: string;
  /** The step that marks compatible versions. */
  beside: string | undefined;
}

async function stepsOf(build: string): Promise<Step[]> {
  const texts = await Promise.all(
    ['storage/postgres', 'access'].map((folder) => readFile(join(build, `dist/pkg/${folder}/migrations.js`), 'utf8')),
  );
  return texts.flatMap((text) =>
    [...text.matchAll(/name: '(\d{4}_\w+)',(?:\s*beside: '(\w+)')?/g)].map(([, name, beside]) => ({
      name: name!,
      beside,
    })),
  );
}

/** Waits until it is ready, by its log and its readiness check. */
export async function servicesOf(program: ServerProcess, folder: string): Promise<Services> {
  const { url, accessUrl } = await program.ready();
  const ready = await fetch(`${String(url)}/readyz`);
  if (!ready.ok) throw new Error(`${program.name} said ready, and /readyz answered ${ready.status}`);
  return {
    platformUrl: String(url),
    accessUrl: String(accessUrl),
    token: (await readFile(join(folder, 'data/admin-token'), 'utf8')).trim(),
  };
}

function api({ platformUrl, token }: Services): ServiceClient {
  return new ServiceClient(platformUrl, `Bearer ${token}`);
}
