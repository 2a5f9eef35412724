import validVersion from 'semver/functions/valid.js';
import validRange from 'semver/ranges/valid.js';
import { validateName } from '#pkg/apimachinery/index';
import type { PluginSpec } from '#pkg/apis/index';

/** The errors of a spec whose shape is valid; a sentence each. */
export function specProblems(spec: PluginSpec, name: string): string[] {
  return [...versionProblems(spec), ...dependencyProblems(spec, name), ...environmentProblems(spec)];
}

/** Undefined for a valid name. The name is also a label value, so it has at most 63 characters. */
export function pluginNameProblem(name: string): string | undefined {
  return name.length > 63 ? 'must be no more than 63 characters' : validateName(name, 'model');
}

function versionProblems({ version, requires }: PluginSpec): string[] {
  // Compared as written: 'v1.0.0' would count as 1.0.0 in comparisons, but be shown as 'v1.0.0'.
  const problems =
    validVersion(version) === version.replace(/\+.*$/s, '')
      ? []
      : [`spec.version must be a semantic version, such as 1.0.0, not ${shown(version)}`];
  return requires === undefined ? problems : [...problems, ...rangeProblems(requires, 'spec.requires')];
}

function dependencyProblems({ dependencies = {} }: PluginSpec, name: string): string[] {
  return Object.entries(dependencies).flatMap(([dependency, range]) => {
    if (dependency === name) return [`spec.dependencies names the plugin itself, ${name}`];
    const problem = pluginNameProblem(dependency);
    if (problem !== undefined)
      return [`spec.dependencies names ${shown(dependency)}, which cannot be a plugin's name: ${problem}`];
    return rangeProblems(range, `spec.dependencies.${dependency}`);
  });
}

function rangeProblems(range: string, field: string): string[] {
  return validRange(range) === null
    ? [`${field} must be a range of semantic versions, such as >=1.2.0 or ^1.2.0, not ${shown(range)}`]
    : [];
}

function environmentProblems({ environment = [] }: PluginSpec): string[] {
  return environment.flatMap((variable, i) => {
    const field = `spec.environment[${i}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable))
      return [`${field} must be the name of an environment variable, not ${shown(variable)}`];
    return variable === 'NODE_OPTIONS'
      ? [`${field} cannot be NODE_OPTIONS: it would change how the plugin is run`]
      : [];
  });
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}
