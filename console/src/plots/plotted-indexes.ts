import type { JsonObject } from '@svc/client';
import type { ModelFacts } from '../list/model-facts.ts';
import type { ModelInfo } from '../server/model-info.ts';
import type { PlottedIndex } from './read-bars.ts';

interface DeclaredIndex {
  name: string;
  path?: string;
  key?: string;
}

/** Each object has another name; hardly any has the others. */
const unplotted: ReadonlySet<string> = new Set(['metadata.name', 'metadata.deletionTimestamp']);

/** The indexes of one value whose value is a field of the object; ages first. */
export function plottedIndexes(
  model: ModelInfo,
  { indexes, definition }: Pick<ModelFacts, 'indexes' | 'definition'>,
): PlottedIndex[] {
  const declared = declaredIndexes(definition, model.version);
  const namespace = model.namespaced ? [{ name: 'metadata.namespace', type: 'string', isMulti: false } as const] : [];
  const all = [...indexes, ...namespace].flatMap(({ name, type, isMulti }): PlottedIndex[] => {
    const { key, path = name } = declared.find((each) => each.name === name) ?? {};
    if (isMulti || unplotted.has(name) || key !== undefined || /[[\]'"]/.test(path)) return [];
    return [{ name, type, path: path.split('.') }];
  });
  return all.toSorted((a, b) => Number(b.name === ageIndex) - Number(a.name === ageIndex));
}

export const ageIndex = 'metadata.creationTimestamp';

function declaredIndexes(definition: JsonObject | undefined, version: string): readonly DeclaredIndex[] {
  const { spec } = (definition ?? {}) as unknown as {
    spec?: { versions: { name: string; indexes?: DeclaredIndex[] }[] };
  };
  return spec?.versions.find(({ name }) => name === version)?.indexes ?? [];
}
