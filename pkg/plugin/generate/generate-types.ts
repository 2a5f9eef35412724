import { groupResource, formatGroupResource, type Model, type ModelVersion } from '#pkg/apimachinery/index';
import { modelText, type TypesTarget } from './model-text.ts';
import { stringLiteral } from './source-text.ts';
import { TypeNamer } from './type-names.ts';

export interface GenerateTypesOptions {
  /** Default `node`. */
  target?: TypesTarget;
  /** The module that the types of clients are imported from. Default: `@svc/sdk`, for a browser `@svc/client`. */
  sdk?: string;
}

/**
 * Generates TypeScript for existing models: a file for each group and served version, by its path
 * (`blog.example.com/v1.ts`). It has the types of specs, statuses and indexes, an IndexedResourceType and a client for each
 * model (for a browser: a WebModel), and only type imports. The output does not depend on the order of the models, and
 * no text of a schema can become code.
 * @throws TypeError for a group or version that cannot be a file name
 */
export function generateTypes(
  models: readonly Model[],
  { target = 'node', sdk = target === 'node' ? '@svc/sdk' : '@svc/client' }: GenerateTypesOptions = {},
): Map<string, string> {
  const files = new Map<string, { model: Model; version: ModelVersion }[]>();
  for (const model of models.toSorted(byName)) {
    for (const version of model.versions) {
      if (!version.served) continue;
      const path = pathOf(model.group, version.name);
      files.set(path, [...(files.get(path) ?? []), { model, version }]);
    }
  }
  return new Map([...files.keys()].toSorted().map((path) => [path, fileText(files.get(path) ?? [], { target, sdk })]));
}

function fileText(
  entries: readonly { model: Model; version: ModelVersion }[],
  { target, sdk }: Required<GenerateTypesOptions>,
): string {
  const giver = new TypeNamer();
  const head = [
    '/* Written by `svc generate types`: to change it, change the models and write it anew. */',
    `import type * as svc from ${stringLiteral(sdk)};`,
    '',
  ].join('\n');
  return [
    head,
    ...entries.map(({ model, version }) =>
      modelText(model, version, { target, names: giver.namesFor(model.names.kind) }),
    ),
  ].join('\n');
}

function byName(a: Model, b: Model): number {
  const [left, right] = [a, b].map((model) => formatGroupResource(groupResource(model))) as [string, string];
  return left < right ? -1 : left > right ? 1 : 0;
}

function pathOf(group: string, version: string): string {
  const folder = group === '' ? 'core' : group;
  if (
    !/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(folder) ||
    folder.includes('..') ||
    !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(version)
  ) {
    throw new TypeError(`${stringLiteral(`${group}/${version}`)} cannot be the name of a file`);
  }
  return `${folder}/${version}.ts`;
}
