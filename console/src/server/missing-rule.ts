import type { Right } from './permissions.ts';

/** The rule that a role would need, as people write it: `delete posts.blog.example.com in default`. */
export function missingRule({ verb, model, namespace, name }: Right): string {
  const { group, plural, namespaced } = model;
  const what = `${verb} ${plural}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` ${name}`}`;
  if (!namespaced) return what;
  return namespace === '' ? `${what} in all namespaces` : `${what} in ${namespace}`;
}
