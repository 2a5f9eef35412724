import { rm } from 'node:fs/promises';
import {
  isStatusError,
  pause,
  type AnyObject,
  type Client,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import {
  definitionType,
  doNotOverwriteLabel,
  pluginLabel,
  pluginType,
  type CustomResourceDefinition,
  type Plugin,
} from '#pkg/apis/index';
import { findPluginFolders } from '#pkg/plugin/index';
import { deleteAllObjects, heldObjects, servedType } from './delete-objects.ts';
import type { ServerSources } from './find-server.ts';
import { OperatorError } from '../options/operator-error.ts';
import { loadOptions } from '../options/load-options.ts';
import { withServer } from './plugin-command.ts';
import { pluginsDir } from '../composition/start-plugins.ts';

/** Timeout of each step: a stop alone may take 30 s. Milliseconds. */
const timeoutMs = 60_000;
const pollMs = 200;
const elsewhere = 'delete it on each machine that runs controllers, and run this again.';

export interface PluginRemoval {
  name: string;
  deleteData: boolean;
  deleteFolder: boolean;
}

/** Folders of a plugin on this machine. */
interface LocalFolders {
  dir: string;
  paths: string[];
}

/**
 * Removes a plugin of a running server: its objects while its controllers still run and can remove their finalizers;
 * its folder; the Plugin; its definitions. Data and folder only on request. A repeated call continues an interrupted
 * one. Throws OperatorError.
 */
export function removePlugin(
  sources: ServerSources,
  { name, deleteData, deleteFolder }: PluginRemoval,
): Promise<number> {
  return withServer(sources, async (client) => {
    const plugin = await findPlugin(client, name);
    const definitions = await definitionsOf(client, name);
    const left = definitions.map(({ metadata }) => metadata.name).join(', ');
    if (plugin === undefined && definitions.length === 0) throw new OperatorError(`There is no plugin ${name}.`);
    if (plugin !== undefined) {
      const folders = deleteFolder ? await localFolders(name, sources) : undefined;
      checkFolder(plugin, folders);
      if (deleteData && plugin.status?.phase === 'Started') await emptyModels(client, definitions);
      if (folders !== undefined) await removeFolders(client, name, folders);
      await deletePlugin(client, plugin);
      say(`${name}: removed`);
    }
    if (deleteData) for (const definition of definitions) await removeDefinition(client, definition);
    else if (definitions.length > 0) say(`${left}: kept, with all objects; --delete-data deletes them`);
    return 0;
  });
}

/** Without those whose label makes them the user's. */
async function definitionsOf(client: Client, plugin: string): Promise<Stored<CustomResourceDefinition>[]> {
  const { items } = await client.list(definitionType, { labelSelector: `${pluginLabel}=${plugin}` });
  return items.filter(({ metadata }) => metadata.labels?.[doNotOverwriteLabel] !== 'true');
}

/** If the folder exists, the Plugin would be recreated, disabled: fails before anything is deleted. */
function checkFolder({ metadata: { name }, status }: Stored<Plugin>, folders: LocalFolders | undefined): void {
  if (status?.phase === undefined) throw new OperatorError(`No controllers are running to stop the plugin ${name}.`);
  if (isFolderMissing(status)) return;
  if (folders === undefined)
    throw new OperatorError(
      `The folder of the plugin ${name} still exists: remove it first, or delete it with --delete-folder.`,
    );
  if (folders.paths.length === 0)
    throw new OperatorError(
      `The server has a folder of the plugin ${name}, and there is none in ${folders.dir}: ${elsewhere}`,
    );
}

function isFolderMissing(status: Plugin['status']): boolean {
  return status?.conditions?.find(({ type }) => type === 'FilesValid')?.reason === 'FolderMissing';
}

async function localFolders(name: string, { config, args, environment }: ServerSources): Promise<LocalFolders> {
  const dir = pluginsDir(loadOptions({ configFolder: config, environment, args }).options);
  return { dir, paths: await findPluginFolders(dir, name) };
}

async function removeFolders(client: Client, name: string, { dir, paths }: LocalFolders): Promise<void> {
  for (const path of paths) {
    await rm(path, { recursive: true });
    say(`${path}: deleted`);
  }
  await until(
    async () => isFolderMissing((await findPlugin(client, name))?.status),
    () => `The server still has a folder of the plugin ${name}, and there is none in ${dir}: ${elsewhere}`,
  );
}

/** The controllers must run to remove their finalizers. */
async function emptyModels(client: Client, definitions: readonly Stored<CustomResourceDefinition>[]): Promise<void> {
  for (const definition of definitions) {
    const type = servedType(definition);
    if (type === undefined) continue;
    const name = definition.metadata.name;
    let count = await deleteAllObjects(client, type);
    let why = '';
    await until(
      async () => {
        const { count: held, isMore, finalizers } = await heldObjects(client, type);
        why = `${held}${isMore ? ' or more' : ''} objects of ${name} are deleted and not gone: they are held by ${finalizers.join(', ')}`;
        if (held > 0) return false;
        // Objects created meanwhile may be held too.
        const more = await deleteAllObjects(client, type);
        count += more;
        why = `Objects of ${name} are made as fast as they are deleted`;
        return more === 0;
      },
      () =>
        `${why}. Nothing else was removed: run this again when they are gone; or disable the plugin, and take the finalizers off yourself.`,
    );
    say(`${name}: ${count} objects deleted`);
  }
}

async function deletePlugin(client: Client, { metadata: { name, uid } }: Stored<Plugin>): Promise<void> {
  await deleteIfThere(client, pluginType, name);
  await until(
    async () => (await findPlugin(client, name))?.metadata.uid !== uid,
    () => `The plugin ${name} is still being stopped; run this again later.`,
  );
}

async function removeDefinition(
  client: Client,
  { metadata: { name } }: Stored<CustomResourceDefinition>,
): Promise<void> {
  await deleteIfThere(client, definitionType, name);
  let why = '';
  await until(
    async () => {
      const present = await find(client, definitionType, name);
      why = present?.status?.conditions?.find(({ type }) => type === 'Terminating')?.message ?? '';
      return present === undefined;
    },
    () =>
      `${name} is being deleted: ${why}. It goes when its objects are gone: they can be read and changed until then.`,
  );
  say(`${name}: deleted, with all objects`);
}

/** Throws OperatorError after the timeout. */
async function until(isDone: () => Promise<boolean>, sentence: () => string): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > end) throw new OperatorError(sentence());
    await pause(pollMs);
  }
}

function findPlugin(client: Client, name: string): Promise<Stored<Plugin> | undefined> {
  return find(client, pluginType, name);
}

function find<T extends AnyObject>(
  client: Client,
  type: ResourceType<T>,
  name: string,
): Promise<Stored<T> | undefined> {
  return client.get(type, { namespace: '', name }).catch(undefinedIfNotFound);
}

async function deleteIfThere(client: Client, type: ResourceType, name: string): Promise<void> {
  await client.delete(type, { namespace: '', name }).catch(undefinedIfNotFound);
}

function undefinedIfNotFound(error: unknown): undefined {
  if (!isStatusError(error, 'NotFound')) throw error;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
