import type { ApiObject, JsonObject } from '#pkg/apimachinery/index';

/** One object that a plugin ships, and its place. */
export interface PresetObject {
  /** Relative to the plugin's folder: `presets/tags.yaml`. */
  file: string;
  /** The document's number in the file, from 1; empty documents do not count. */
  document: number;
  object: ApiObject & JsonObject;
}

/** The place, for the author. */
export function formatPlace({ file, document }: Pick<PresetObject, 'file' | 'document'>): string {
  return `${file}, document ${document}`;
}

/** `Post blog/hello` */
export function formatObject({ kind, namespace, name }: { kind: string; namespace?: string; name: string }): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
