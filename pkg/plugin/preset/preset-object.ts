import type { ApiObject, JsonObject } from '#pkg/apimachinery/index';

/** One object that a plugin ships, and where it stands. */
export interface PresetObject {
  /** Below the plugin's folder: `presets/tags.yaml`. */
  file: string;
  /** Which document of the file, from 1; empty ones do not count. */
  document: number;
  object: ApiObject & JsonObject;
}

/** Where an author finds it. */
export function formatPlace({ file, document }: Pick<PresetObject, 'file' | 'document'>): string {
  return `${file}, document ${document}`;
}

/** `Post blog/hello` */
export function formatObject({ kind, namespace, name }: { kind: string; namespace?: string; name: string }): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
