import type { Plugin } from '#pkg/apis/index';
import { dependenciesOf } from './dependencies.ts';

/**
 * Groups plugins that depend on one another, directly or through others. Dependencies that do not exist connect nothing.
 * @returns the name of each plugin's group: its first plugin by name
 */
export function connectedPlugins(plugins: readonly Plugin[]): Map<string, string> {
  const names = plugins.map(({ metadata }) => metadata.name).toSorted();
  const parents = new Map(names.map((name) => [name, name]));
  const groupOf = (name: string): string => {
    let group = name;
    while (parents.get(group) !== group) group = parents.get(group)!;
    return group;
  };
  for (const plugin of plugins)
    for (const dependency of dependenciesOf(plugin)) {
      if (!parents.has(dependency)) continue;
      const [first, second] = [groupOf(plugin.metadata.name), groupOf(dependency)].toSorted();
      parents.set(second!, first!);
    }
  return new Map(names.map((name) => [name, groupOf(name)]));
}
