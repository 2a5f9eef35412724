import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatGroupResource, groupResource, isStatusError, type Client, type Model } from '#pkg/apimachinery/index';
import { builtinModels, definitionType, isDefinition, isEstablished, modelFromDefinition } from '#pkg/apis/index';
import { generateTypes } from '#pkg/plugin/index';
import { findServer, type ServerSources } from './find-server.ts';
import { OperatorError } from '../options/operator-error.ts';

export interface WriteTypesOptions extends ServerSources {
  /** Output folder. */
  out: string;
  /** Module to import the SDK types from. */
  sdk: string;
  /**
   * Only these groups and models (`posts.blog.example.com`), including the server's own. Empty: all models of
   * definitions.
   */
  groups: readonly string[];
  models: readonly string[];
}

/** Generates TypeScript for the models of a running server; leaves unchanged files alone. Throws OperatorError. */
export async function writeTypes({ out, sdk, groups, models, ...sources }: WriteTypesOptions): Promise<number> {
  const { url: server, client } = await findServer(sources);
  let served: Model[];
  try {
    served = await servedModels(client, server);
  } finally {
    client.close();
  }
  const chosen = choose(served, groups, models);
  if (chosen.length === 0) throw new OperatorError(`${server} has no models yet; a definition declares one.`);
  for (const [path, text] of written(chosen, sdk)) {
    const file = join(out, path);
    const isNew = writeFile(file, text);
    process.stdout.write(`${file}${isNew ? '' : ' (as it was)'}\n`);
  }
  return 0;
}

async function servedModels(client: Client, server: string): Promise<Model[]> {
  try {
    const { items } = await client.list(definitionType);
    return items.filter((item) => isDefinition(item) && isEstablished(item)).map(modelFromDefinition);
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

function written(models: readonly Model[], sdk: string): Map<string, string> {
  try {
    return generateTypes(models, { sdk });
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
