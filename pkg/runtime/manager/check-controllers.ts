import { formatGroupResource } from '#pkg/apimachinery/index';
import type { CacheIndex, ControllerDefinition } from '../definition/controller-definition.ts';

/**
 * Checks errors that no retry would fix. @throws TypeError that names duplicate controllers, or duplicate indexes of a
 * type
 */
export function checkControllers(controllers: readonly ControllerDefinition[]): void {
  const names = controllers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new TypeError(`there are two controllers named ${twice}`);
  const seen = new Map<string, { index: CacheIndex; controller: string }>();
  for (const { name: controller, indexes } of controllers) {
    for (const index of indexes) {
      const { group, version, plural } = index.type;
      const key = JSON.stringify([group, version, plural, index.name]);
      const other = seen.get(key);
      if (other === undefined) seen.set(key, { index, controller });
      else if (other.index.valuesOf !== index.valuesOf)
        throw new TypeError(
          `${whose(other.controller, controller)} two different indexes named ${index.name} of ${formatGroupResource({ group, resource: plural })}: they share a cache, so each index needs a name of its own, or the same function`,
        );
    }
  }
}

function whose(one: string, other: string): string {
  return one === other ? `the controller ${one} has` : `the controllers ${one} and ${other} have`;
}
