import { modelName, type ModelInfo } from '../server/model-info.ts';
import { models } from '../server/discovery.ts';

/** The core group has no name, and a path needs one; names of other groups have a dot. */
const coreGroup = 'core';

export function listLink({ group, plural }: Pick<ModelInfo, 'group' | 'plural'>, namespace = ''): string {
  const query = namespace === '' ? '' : `?ns=${encodeURIComponent(namespace)}`;
  return `/g/${encodeURIComponent(group === '' ? coreGroup : group)}/${encodeURIComponent(plural)}${query}`;
}

export function newLink(model: Pick<ModelInfo, 'group' | 'plural'>, namespace: string): string {
  return listLink(model, namespace).replace(/(\?|$)/, '/new$1');
}

export function fieldsLink(model: Pick<ModelInfo, 'group' | 'plural'>): string {
  return `${listLink(model)}/fields`;
}

export function objectLink(
  model: Pick<ModelInfo, 'group' | 'plural'>,
  { namespace = '', name }: { namespace?: string; name: string },
): string {
  // `-` is no namespace.
  return `${listLink(model)}/${namespace === '' ? '-' : encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function modelOfPath(group: string, plural: string): ModelInfo | undefined {
  const name = group === coreGroup ? '' : group;
  return models.get()?.find((model) => model.group === name && model.plural === plural);
}

/** The title of a model: its kind, and its full name where two have the same kind. */
export function modelTitle(model: ModelInfo, all: readonly ModelInfo[]): string {
  const isOnly = all.every((other) => other === model || other.kind !== model.kind);
  return isOnly ? model.kind : `${model.kind} (${modelName(model)})`;
}

/** Models of users come first: names of built-in groups end in `k8s.io` or `svc.run`, or are missing. */
export function rankOf({ group }: ModelInfo): number {
  return group === '' ? 1 : /(?:^|\.)(?:k8s\.io|svc\.run)$/.test(group) ? 2 : 0;
}
