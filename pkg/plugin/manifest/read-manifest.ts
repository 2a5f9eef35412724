import { realpath } from 'node:fs/promises';
import { decodeYaml, isJsonObject, isStatusError, type DecodeResult, type JsonSchema } from '#pkg/apimachinery/index';
import { pluginGroup, pluginModel, pluginType, type PluginSpec } from '#pkg/apis/index';
import { PluginError } from '../plugin-error.ts';
import { pluginNameProblem, specProblems } from './check-spec.ts';
import { shapeProblems } from './check-shape.ts';
import { readFileWithin } from './file-within.ts';
import { findMain } from './find-main.ts';
import { manifestFile, type PluginManifest } from './manifest.ts';

const reason = 'ManifestInvalid';
const maxBytes = 64 * 1024;
const apiVersion = `${pluginGroup}/${pluginType.version}`;
const text: JsonSchema = { type: 'string' };
/** The file's schema: the model's own without status and most of metadata. */
const schema: JsonSchema = {
  type: 'object',
  required: ['apiVersion', 'kind', 'metadata', 'spec'],
  properties: {
    apiVersion: { ...text, enum: [apiVersion] },
    kind: { ...text, enum: [pluginType.kind] },
    metadata: { type: 'object', required: ['name'], properties: { name: text } },
    spec: pluginModel.versions[0]!.schema.properties!['spec']!,
  },
};

/**
 * Reads and validates a folder's `plugin.yaml`, and finds the module. @throws PluginError `ManifestInvalid` that names
 * file and fields
 */
export async function readManifest(folder: string): Promise<PluginManifest> {
  const bytes = await readFileWithin(folder, manifestFile, { reason, maxBytes });
  if (bytes === undefined) throw new PluginError({ reason, message: `${manifestFile} is not there` });
  const { name, spec } = parseManifest(bytes);
  return {
    name,
    spec: { ...spec, enabled: spec.enabled ?? false },
    folder: await realpath(folder),
    main: await findMain(folder, spec.main),
  };
}

/** Parses and validates the file. @throws PluginError `ManifestInvalid` */
export function parseManifest(bytes: Buffer): { name: string; spec: PluginSpec } {
  const { value, duplicates, dropped } = decode(bytes);
  if (!isJsonObject(value)) throw newInvalid(['it must hold an object']);
  refuse([
    ...duplicates.map((path) => `${path} is there twice`),
    ...dropped.map((path) => `${path} is no field of a plugin`),
    ...shapeProblems(schema, value, []),
  ]);
  const { metadata, spec } = value as unknown as { metadata: { name: string }; spec: PluginSpec };
  const nameProblem = pluginNameProblem(metadata.name);
  refuse([
    ...(nameProblem === undefined ? [] : [`metadata.name ${nameProblem}`]),
    ...specProblems(spec, metadata.name),
  ]);
  return { name: metadata.name, spec };
}

function decode(bytes: Buffer): DecodeResult {
  try {
    return decodeYaml(bytes);
  } catch (error) {
    if (!isStatusError(error)) throw error;
    throw newInvalid([error.message.replace(/^the body(?: of the request)?/, 'it')]);
  }
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw newInvalid(problems);
}

function newInvalid(problems: readonly string[]): PluginError {
  const [shown, more] = [problems.slice(0, 10), problems.length - 10];
  return new PluginError({
    reason,
    message: `${manifestFile}: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
  });
}
