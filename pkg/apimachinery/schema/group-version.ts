/** A named set of resources at one version; `group` is '' for the core group. */
export interface GroupVersion {
  group: string;
  version: string;
}

export interface GroupVersionKind extends GroupVersion {
  kind: string;
}

/** A model's REST name, used in its table, permissions and URLs. */
export interface GroupResource {
  group: string;
  resource: string;
}

/** `group/version`, or just `version` in the core group: the text of an object's `apiVersion`. */
export function formatApiVersion({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `posts.blog.example.com`, or just `namespaces` in the core group: the name used in messages and definitions. */
export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

/** `blog.example.com` of `blog.example.com/v1`; '' of `v1`. */
export function apiGroupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}
