import type { Plugin } from '#pkg/apis/index';
import { resolveDependencies } from '../../manifest/resolve-dependencies.ts';

/** Why a plugin cannot start now; it can once its dependencies have changed. */
export interface DependencyProblem {
  reason: string;
  message: string;
  isWaiting: boolean;
}

/** Undefined if every dependency of `plugin` exists, in a matching version, and has started. */
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
  if (problem !== undefined) return { reason: problem.reason, message: problem.message, isWaiting: false };
  const missing = dependencies.filter((dependency) => !isAvailable(dependency));
  return missing.length === 0
    ? undefined
    : { reason: 'DependencyNotStarted', message: `it waits for: ${missing.join(', ')}`, isWaiting: true };
}

export function dependenciesOf({ spec }: Plugin): string[] {
  return Object.keys(spec.dependencies ?? {}).toSorted();
}

/** Whether it depends on `name`. */
export function dependsOn({ spec }: Pick<Plugin, 'spec'>, name: string): boolean {
  return Object.hasOwn(spec.dependencies ?? {}, name);
}

/** The plugins that depend on `name`. */
export function dependentsOf(name: string, all: readonly Plugin[]): string[] {
  return all.filter((plugin) => dependsOn(plugin, name)).map(({ metadata }) => metadata.name);
}
