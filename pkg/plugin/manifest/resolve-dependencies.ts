import { PluginError } from '../plugin-error.ts';
import { isInRange } from './check-requires.ts';

export interface DependentPlugin {
  name: string;
  version: string;
  /** Version ranges by plugin name. */
  dependencies?: Readonly<Record<string, string>>;
}

export interface DependencyResolution {
  /** Names of the plugins that can start, each after its dependencies, otherwise by name. */
  order: string[];
  /** Why each of the others cannot start. */
  problems: Map<string, PluginError>;
}

/**
 * The start order of plugins. A plugin has no place in it if a dependency is missing or has the wrong version, if it is
 * part of a cycle, or if it depends on such a plugin. Its problem names the other plugin, or all plugins of the cycle.
 * The order of `plugins` does not matter.
 */
export function resolveDependencies(plugins: readonly DependentPlugin[]): DependencyResolution {
  const byName = new Map(plugins.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((plugin) => [plugin.name, plugin]));
  const problems = new Map<string, PluginError>();
  for (const plugin of byName.values()) {
    const problem = missing(plugin, byName);
    if (problem !== undefined) problems.set(plugin.name, problem);
  }
  for (const circle of circlesIn(byName)) {
    const way = [...circle, circle[0]].join(' -> ');
    for (const name of circle)
      problems.set(
        name,
        new PluginError({
          reason: 'DependencyCircle',
          message: `these plugins depend on one another in a circle: ${way}`,
        }),
      );
  }
  return { order: placeAfterDependencies(byName, problems), problems };
}

function missing(
  { dependencies = {} }: DependentPlugin,
  byName: ReadonlyMap<string, DependentPlugin>,
): PluginError | undefined {
  for (const [name, range] of sortedEntries(dependencies)) {
    const found = byName.get(name);
    if (found === undefined)
      return new PluginError({
        reason: 'DependencyMissing',
        message: `it depends on the plugin ${name} (${range}), which is not there`,
      });
    if (!isInRange(found.version, range))
      return new PluginError({
        reason: 'DependencyVersionMismatch',
        message: `it depends on the plugin ${name} in version ${range}, which is there in version ${found.version}`,
      });
  }
  return undefined;
}

/**
 * One cycle for each plugin that is part of any, without duplicates, starting with its first name. Not recursive,
 * because chains may be long.
 */
function circlesIn(byName: ReadonlyMap<string, DependentPlugin>): string[][] {
  const circles: string[][] = [];
  const told = new Set<string>();
  for (const name of byName.keys()) {
    if (told.has(name)) continue;
    const circle = circleThrough(name, byName);
    if (circle === undefined) continue;
    circles.push(circle);
    for (const each of circle) told.add(each);
  }
  return circles;
}

/** The shortest cycle through a plugin. */
function circleThrough(start: string, byName: ReadonlyMap<string, DependentPlugin>): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const next = [start];
  for (const name of next) {
    for (const [dependency] of sortedEntries(byName.get(name)?.dependencies ?? {})) {
      if (dependency === start) return wayTo(name, cameFrom);
      if (cameFrom.has(dependency) || !byName.has(dependency)) continue;
      cameFrom.set(dependency, name);
      next.push(dependency);
    }
  }
  return undefined;
}

function wayTo(name: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way: string[] = [];
  for (let current: string | undefined = name; current !== undefined; current = cameFrom.get(current))
    way.unshift(current);
  return way;
}

/** Also adds a problem to each plugin that depends on a plugin with a problem. */
function placeAfterDependencies(
  byName: ReadonlyMap<string, DependentPlugin>,
  problems: Map<string, PluginError>,
): string[] {
  const order: string[] = [];
  const placed = new Set<string>();
  let left = [...byName.values()].filter(({ name }) => !problems.has(name));
  while (left.length > 0) {
    const waiting: DependentPlugin[] = [];
    for (const plugin of left) {
      const names = Object.keys(plugin.dependencies ?? {}).toSorted();
      const broken = names.find((name) => problems.has(name));
      if (broken !== undefined) {
        problems.set(
          plugin.name,
          new PluginError({
            reason: 'DependencyFailed',
            message: `it depends on the plugin ${broken}, which cannot be started: ${rootOf(broken, problems)}`,
          }),
        );
      } else if (names.every((name) => placed.has(name))) {
        order.push(plugin.name);
        placed.add(plugin.name);
      } else waiting.push(plugin);
    }
    left = waiting;
  }
  return order;
}

function rootOf(name: string, problems: ReadonlyMap<string, PluginError>): string {
  const { message } = problems.get(name)!;
  return message.length > 500 ? `${message.slice(0, 500)}...` : message;
}

function sortedEntries(ranges: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(ranges).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
