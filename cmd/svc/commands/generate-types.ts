import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  formatGroupResource,
  groupResource,
  isStatusError,
  pause,
  type Client,
  type Model,
} from '#pkg/apimachinery/index';
import { builtinModels, definitionType, isDefinition, isEstablished, modelFromDefinition } from '#pkg/apis/index';
import { generateTypes, type TypesTarget } from '#pkg/plugin/index';
import { findServer, type ServerSources } from './find-server.ts';
import { OperatorError } from '../options/operator-error.ts';
import { untilInterrupted } from '../process/until-interrupted.ts';

export interface WriteTypesOptions extends ServerSources {
  /** Output folder. */
  out: string;
  target: TypesTarget;
  /** Module to import the types of clients from. Default: that of the target. */
  sdk?: string;
  /** Go on, and write again whenever a definition changes. */
  watch: boolean;
  /**
   * Only these groups and models (`posts.blog.example.com`), including the server's own. Empty: all models of
   * definitions.
   */
  groups: readonly string[];
  models: readonly string[];
}

/** Milliseconds before a lost server is asked again. */
const retryMs = 1000;

/**
 * Generates TypeScript for the models of a running server; leaves unchanged files alone. With `watch` it goes on until
 * it is interrupted. Throws OperatorError.
 */
export async function writeTypes({ watch, ...options }: WriteTypesOptions): Promise<number> {
  const { url: server, client } = await findServer(options);
  try {
    const { resourceVersion } = await writeOnce(client, server, options);
    return watch ? await untilInterrupted((signal) => follow({ client, server, options, signal }, resourceVersion)) : 0;
  } finally {
    client.close();
  }
}

interface Following {
  client: Client;
  server: string;
  options: Omit<WriteTypesOptions, 'watch'>;
  signal: AbortSignal;
}

/** Writes the types again after each change of the definitions. Throws the signal's reason. */
async function follow({ client, server, options, signal }: Following, since: string): Promise<never> {
  for (let resourceVersion = since; ;) {
    try {
      const stream = await client.watch(definitionType, { resourceVersion, signal });
      for await (const event of stream) if (event.type !== 'BOOKMARK') break;
      signal.throwIfAborted();
      ({ resourceVersion } = await writeOnce(client, server, options));
    } catch (error) {
      signal.throwIfAborted();
      process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
      await pause(retryMs, signal);
    }
  }
}

async function writeOnce(
  client: Client,
  server: string,
  { out, groups, models, ...generating }: Omit<WriteTypesOptions, 'watch'>,
): Promise<{ resourceVersion: string }> {
  const { resourceVersion, models: served } = await servedModels(client, server);
  const chosen = choose(served, groups, models);
  if (chosen.length === 0) throw new OperatorError(`${server} has no models yet; a definition declares one.`);
  for (const [path, text] of written(chosen, generating)) {
    const file = join(out, path);
    const isNew = writeFile(file, text);
    process.stdout.write(`${file}${isNew ? '' : ' (as it was)'}\n`);
  }
  return { resourceVersion };
}

async function servedModels(client: Client, server: string): Promise<{ resourceVersion: string; models: Model[] }> {
  try {
    const { items, resourceVersion } = await client.list(definitionType);
    const served = items.filter((item) => isDefinition(item) && isEstablished(item));
    return { resourceVersion, models: served.map(modelFromDefinition) };
  } catch (error) {
    if (isStatusError(error))
      throw new OperatorError(`The models of ${server} cannot be read: ${error.message} (${error.code}).`, {
        cause: error,
      });
    throw error;
  }
}

function choose(served: readonly Model[], groups: readonly string[], models: readonly string[]): Model[] {
  if (groups.length === 0 && models.length === 0) return [...served];
  const all = [...builtinModels, ...served];
  const nameOf = (model: Model): string => formatGroupResource(groupResource(model));
  for (const group of groups) {
    if (!all.some((model) => model.group === group))
      throw new OperatorError(`The server has no models in the group ${JSON.stringify(group)}.`);
  }
  for (const name of models) {
    if (!all.some((model) => nameOf(model) === name))
      throw new OperatorError(`The server has no model ${JSON.stringify(name)}; models are named <plural>.<group>.`);
  }
  return all.filter((model) => groups.includes(model.group) || models.includes(nameOf(model)));
}

function written(
  models: readonly Model[],
  { target, sdk }: Pick<WriteTypesOptions, 'target' | 'sdk'>,
): Map<string, string> {
  try {
    return generateTypes(models, { target, ...(sdk === undefined ? {} : { sdk }) });
  } catch (error) {
    if (error instanceof TypeError)
      throw new OperatorError(`The server's models cannot be written: ${error.message}.`, { cause: error });
    throw error;
  }
}

/** Writes the file atomically. Returns whether it changed. */
function writeFile(file: string, text: string): boolean {
  try {
    if (readFileSync(file, 'utf8') === text) return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}.tmp`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
  return true;
}
