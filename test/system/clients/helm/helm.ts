import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { hasHelm, toolsFolder } from '../../../../hack/helm/helm.mjs';
import type { ClientCase } from '../client-case.ts';
import type { ClientSite } from '../site/client-site.ts';
import { runCommand, type CommandResult } from '../site/run-command.ts';

const chart = fileURLToPath(new URL('chart', import.meta.url));
const release = 'one';
const namespace = 'library';
const books = `/apis/library.example.com/v1/namespaces/${namespace}/books`;
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const secrets = `/api/v1/namespaces/${namespace}/secrets`;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Long enough for helm to end if it did not wait. Milliseconds. */
const watchedMs = 3000;

interface Book {
  metadata: { generation: number; deletionTimestamp?: string; managedFields: { manager: string; operation: string }[] };
  spec: { title: string };
}
interface Data {
  data: Record<string, string>;
}

/** helm 4, which writes by server-side apply: the life of a release with definitions, objects of them, and hooks. */
export const helm: ClientCase = {
  missing: () => Promise.resolve(hasHelm() ? undefined : 'helm is not installed: node hack/helm/fetch.mjs'),
  run: async (site) => {
    await install(site);
    await upgrade(site);
    await refused(site);
    await waiting(site);
    await uninstall(site);
  },
};

function run(site: ClientSite, ...args: string[]): Promise<CommandResult> {
  return runCommand(join(toolsFolder, 'helm'), [...args, '--namespace', namespace], { env: site.env });
}

function change(site: ClientSite, ...args: string[]): Promise<CommandResult> {
  return run(site, 'upgrade', release, chart, '--wait', '--timeout', '60s', ...args);
}

async function install(site: ClientSite): Promise<void> {
  const result = await change(site, '--install', '--create-namespace');
  site.checkDone('helm install', result);
  const book = await site.find<Book>(`${books}/${release}`);
  site.checkEqual('the object of a definition in crds', book?.spec, {
    pages: 100,
    tags: ['new', 'lent'],
    title: 'First',
  });
  site.checkEqual(
    'helm is the manager that applied it',
    book?.metadata.managedFields.map(({ manager, operation }) => `${manager} ${operation}`),
    ['helm Apply'],
  );
  const names = (await site.names(definitions)).filter((name) => name.endsWith('.library.example.com'));
  site.checkEqual('definitions of crds and of a template', names, [
    'books.library.example.com',
    'shelves.library.example.com',
  ]);
  site.checkEqual('a Secret of stringData', (await site.find<Data>(`${secrets}/${release}-password`))?.data, {
    password: Buffer.from('First').toString('base64'),
  });
  site.checkEqual(
    'a hook ran once, and its template saw the server',
    (await site.find<Data>(`${configMaps}/${release}-hook`))?.data,
    { found: 'default', knowsBooks: 'true', revision: '1' },
  );
  const status = await run(site, 'status', release);
  site.check('helm status names the objects', /==> v1\/Book\nNAME +AGE\none /.test(status.stdout), status.stdout);
}

async function upgrade(site: ClientSite): Promise<void> {
  site.checkDone('helm upgrade', await change(site, '--set=title=Second,hasCatalog=true'));
  site.checkEqual('an upgrade changes objects', (await site.find<Book>(`${books}/${release}`))?.spec.title, 'Second');
  site.checkEqual('an upgrade adds objects', await site.names(configMaps), [
    `${release}-catalog`,
    `${release}-hook`,
    `${release}-settings`,
  ]);
  site.checkEqual(
    'a hook is replaced',
    (await site.find<Data>(`${configMaps}/${release}-hook`))?.data['revision'],
    '2',
  );
  site.checkDone('helm rollback', await run(site, 'rollback', release, '1', '--wait', '--timeout', '60s'));
  site.checkEqual(
    'a rollback changes objects back',
    (await site.find<Book>(`${books}/${release}`))?.spec.title,
    'First',
  );
  site.checkEqual('a rollback removes objects', await site.names(configMaps), [
    `${release}-hook`,
    `${release}-settings`,
  ]);
  site.checkDone('helm upgrade by merge patches', await change(site, '--server-side=false', '--set=title=Third'));
  site.checkDone('helm upgrade by apply again', await change(site, '--server-side=true', '--set=title=First'));
  const dry = await change(site, '--dry-run=server', '--set=title=Dry');
  site.check('a dry run shows the objects', dry.status === 0 && dry.stdout.includes('title: Dry'), dry.stderr);
  site.checkEqual('a dry run changes nothing', (await site.find<Book>(`${books}/${release}`))?.spec.title, 'First');
}

async function refused(site: ClientSite): Promise<void> {
  await site.server.fetch(`${books}/${release}?fieldManager=editor`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: JSON.stringify({ spec: { title: 'Edited' } }),
  });
  site.checkRefused(
    'an upgrade of a field that another manager has changed',
    await change(site, '--set=title=Fourth'),
    /conflict with "editor" using library\.example\.com\/v1: \.spec\.title/,
  );
  site.checkDone('--force-conflicts takes the field', await change(site, '--set=title=Fourth', '--force-conflicts'));
  site.checkRefused(
    'an invalid object is refused and rolled back',
    await change(site, '--set=pages=0,title=Fifth', '--rollback-on-failure'),
    /rolled back due to rollback-on-failure being set: .*spec\.pages: Invalid value: 0/,
  );
  site.checkEqual('after the rollback', (await site.find<Book>(`${books}/${release}`))?.spec.title, 'Fourth');
}

/** The object says in its status which generation its controller has seen; helm waits for the newest. */
async function waiting(site: ClientSite): Promise<void> {
  const generation = async (): Promise<number> => (await site.find<Book>(`${books}/${release}`))!.metadata.generation;
  const setStatus = async (observedGeneration: number): Promise<string> =>
    site.server.fetch(`${books}/${release}/status`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: JSON.stringify({ status: { observedGeneration, conditions: [{ type: 'Ready', status: 'True' }] } }),
    });
  const before = await generation();
  await setStatus(before);
  let hasEnded = false;
  const upgrading = change(site, '--set=title=Sixth').finally(() => {
    hasEnded = true;
  });
  await site.until('helm has written', async () => (await generation()) > before);
  await delay(watchedMs);
  site.check('--wait waits for the status of a custom resource', !hasEnded);
  await setStatus(await generation());
  site.checkDone('--wait ends with it', await upgrading);
}

async function uninstall(site: ClientSite): Promise<void> {
  const uninstalling = run(site, 'uninstall', release, '--wait', '--timeout', '60s');
  await site.until(
    'helm has deleted the book',
    async () => (await site.find<Book>(`${books}/${release}`))?.metadata.deletionTimestamp !== undefined,
  );
  // Whether helm waits for the finalizer is not checked: it takes an object that it has not read yet for a deleted one.
  await site.server.fetch(`${books}/${release}`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { finalizers: null } }),
  });
  site.checkDone('helm uninstall', await uninstalling);
  site.checkEqual('hooks stay', await site.names(configMaps), [`${release}-hook`]);
  site.checkEqual('nothing of the release stays', await site.names(secrets), []);
  const left = (await site.names(definitions)).filter((name) => name.endsWith('.library.example.com'));
  site.checkEqual('definitions of crds stay, those of templates do not', left, ['books.library.example.com']);
}
