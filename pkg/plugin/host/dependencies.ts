import type { Plugin } from '#pkg/apis/index';
import { resolveDependencies } from '../manifest/resolve-dependencies.ts';

/** Why a plugin cannot be started now; it may be when those it waits for are. */
export interface DependencyProblem {
  reason: string;
  message: string;
  waits: boolean;
}

/** Undefined where everything that `plugin` depends on is there, in the right version, and started. */
export function dependencyProblem(
  plugin: Plugin,
  all: readonly Plugin[],
  isAvailable: (name: string) => boolean,
): DependencyProblem | undefined {
  const dependencies = dependenciesOf(plugin);
  if (dependencies.length === 0) return undefined;
  const { name } = plugin.metadata;
  const others = all.filter(({ metadata }) => metadata.name !== name);
  const { problems } = resolveDependencies(
    [plugin, ...others].map(({ metadata, spec }) => ({
      name: metadata.name,
      version: spec.version,
      dependencies: spec.dependencies ?? {},
    })),
  );
  const problem = problems.get(name);
  if (problem !== undefined) return { reason: problem.reason, message: problem.message, waits: false };
  const missing = dependencies.filter((dependency) => !isAvailable(dependency));
  return missing.length === 0
    ? undefined
    : { reason: 'DependencyNotStarted', message: `it waits for: ${missing.join(', ')}`, waits: true };
}

export function dependenciesOf({ spec }: Plugin): string[] {
  return Object.keys(spec.dependencies ?? {}).toSorted();
}

/** Does it name `name` as a dependency? */
export function dependsOn({ spec }: Pick<Plugin, 'spec'>, name: string): boolean {
  return Object.hasOwn(spec.dependencies ?? {}, name);
}

/** Those that name `name` as a dependency. */
export function dependentsOf(name: string, all: readonly Plugin[]): string[] {
  return all.filter((plugin) => dependsOn(plugin, name)).map(({ metadata }) => metadata.name);
}
