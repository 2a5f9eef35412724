/** The models that this API server serves, as its registry knows them. */
export interface ServedModels {
  find(group: string, version: string, resource: string): object | undefined;
  /** Grows with every change of what is served. */
  readonly generation: number;
}

/**
 * Does a decoded path below `/apis/<group>/<version>` lead to a model: to its objects, or those of one namespace? A
 * template counts as the path that it looks like.
 */
export function isModelPath(models: ServedModels, path: string): boolean {
  const [, , group = '', version = '', resource = '', , namespaced = ''] = path.split('/', 7);
  return (
    models.find(group, version, resource) !== undefined ||
    (resource === 'namespaces' && models.find(group, version, namespaced) !== undefined)
  );
}
