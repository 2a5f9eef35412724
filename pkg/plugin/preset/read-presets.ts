import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { PluginError } from '../plugin-error.ts';
import { decodePresets } from './decode-presets.ts';
import { presetLimits } from './preset-limits.ts';
import { formatObject, formatPlace, type PresetObject } from './preset-object.ts';

const presetsFolder = 'presets';

/**
 * The presets of a plugin: every object in `presets/*.yaml|yml|json`, files by name, without subfolders. Empty if the
 * folder does not exist.
 * @throws PluginError PresetsInvalid that names the file and the document: for an unreadable file, a document without
 * apiVersion, kind and metadata.name, a duplicate object, a link out of the plugin's folder, and past the limits
 */
export async function readPresets(folder: string): Promise<PresetObject[]> {
  const presets: PresetObject[] = [];
  const places = new Map<string, string>();
  let size = 0;
  for (const { file, path } of await presetFiles(folder)) {
    const bytes = await readPresetFile(file, path);
    size += bytes.length;
    if (size > presetLimits.totalSize)
      throw newPresetsInvalid(file, `with this file the presets are more than ${presetLimits.totalSize} bytes`);
    for (const preset of await decodePresets(file, bytes)) {
      const identity = identityOf(preset);
      const other = places.get(identity);
      if (other !== undefined) throw newPresetsInvalid(formatPlace(preset), `${shown(preset)} is in ${other} as well`);
      places.set(identity, formatPlace(preset));
      presets.push(preset);
      if (presets.length > presetLimits.objects)
        throw newPresetsInvalid(formatPlace(preset), `a plugin may ship ${presetLimits.objects} objects, and no more`);
    }
  }
  return presets;
}

/** `place` is a file or a document in it. */
export function newPresetsInvalid(place: string, message: string, cause?: unknown): PluginError {
  return new PluginError({ reason: 'PresetsInvalid', message: `${place}: ${message}`, cause });
}

interface PresetFile {
  file: string;
  /** The real path. */
  path: string;
}

async function presetFiles(folder: string): Promise<PresetFile[]> {
  try {
    const root = await realpath(folder);
    const entries = await readdir(join(root, presetsFolder)).catch(noneIfAbsent);
    const names = entries.filter((name) => /^[^.].*\.(?:yaml|yml|json)$/.test(name)).toSorted(byCodeUnit);
    if (names.length > presetLimits.files)
      throw newPresetsInvalid(
        presetsFolder,
        `${names.length} files are more than the ${presetLimits.files} that may be`,
      );
    return await Promise.all(
      names.map(async (name) => ({
        file: `${presetsFolder}/${name}`,
        path: await realPathWithin(root, `${presetsFolder}/${name}`),
      })),
    );
  } catch (error) {
    throw error instanceof PluginError
      ? error
      : newPresetsInvalid(presetsFolder, `it cannot be read: ${messageOf(error)}`, error);
  }
}

async function realPathWithin(root: string, file: string): Promise<string> {
  const path = await realpath(join(root, file));
  if (!path.startsWith(root.endsWith(sep) ? root : root + sep))
    throw newPresetsInvalid(file, 'it is a link that leads out of the folder of the plugin');
  return path;
}

async function readPresetFile(file: string, path: string): Promise<Buffer> {
  try {
    // Opening without O_NONBLOCK could block for ever, for example on a pipe.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw newPresetsInvalid(file, 'it is no file');
      if (stats.size > presetLimits.fileSize)
        throw newPresetsInvalid(file, `it has ${stats.size} bytes, more than the ${presetLimits.fileSize} that may be`);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw error instanceof PluginError
      ? error
      : newPresetsInvalid(file, `it cannot be read: ${messageOf(error)}`, error);
  }
}

function noneIfAbsent(error: unknown): string[] {
  if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT') return [];
  throw error;
}

function identityOf({ object: { apiVersion, kind, metadata } }: PresetObject): string {
  return JSON.stringify([apiVersion, kind, metadata.namespace ?? '', metadata.name]);
}

function shown({ object: { kind, metadata } }: PresetObject): string {
  return formatObject({ kind, ...metadata });
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
