import type { Attributes } from '#pkg/identity/index';
import type { AuditLevel } from './audit-level.ts';
import type { AuditStage } from './audit-stage.ts';
import type { AuditResources, AuditRule } from './policy-document.ts';

/** What a policy decides by. */
export type AuditAttributes = Omit<Attributes, 'version'>;

type Texts = ReadonlySet<string>;

/** One rule, compiled for a check of each request. An absent set matches everything. */
export class CompiledAuditRule {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
  readonly #users: Texts | undefined;
  readonly #userGroups: Texts | undefined;
  readonly #verbs: Texts | undefined;
  readonly #namespaces: Texts | undefined;
  readonly #resources: readonly CompiledResources[] | undefined;
  readonly #paths: Texts | undefined;
  readonly #pathPrefixes: readonly string[];

  /** `policy`: what holds for all rules. */
  constructor(rule: AuditRule, policy: { omitStages: readonly AuditStage[]; omitManagedFields: boolean }) {
    this.level = rule.level;
    this.omitStages = new Set([...policy.omitStages, ...rule.omitStages]);
    this.omitManagedFields = rule.omitManagedFields ?? policy.omitManagedFields;
    this.#users = setOf(rule.users);
    this.#userGroups = setOf(rule.userGroups);
    this.#verbs = setOf(rule.verbs);
    this.#namespaces = setOf(rule.namespaces);
    this.#resources = rule.resources.length === 0 ? undefined : rule.resources.map(compileResources);
    this.#paths = setOf(rule.nonResourceURLs);
    this.#pathPrefixes = rule.nonResourceURLs.filter((path) => path.endsWith('*')).map((path) => path.slice(0, -1));
  }

  /** `resourceForms`: those of the request's resource, by `resourceFormsOf`. */
  matches(request: AuditAttributes, resourceForms: readonly string[]): boolean {
    return (
      has(this.#users, request.user.name) &&
      hasAny(this.#userGroups, request.user.groups) &&
      has(this.#verbs, request.verb) &&
      (request.isResourceRequest ? this.#matchesResource(request, resourceForms) : this.#matchesPath(request.path))
    );
  }

  #matchesResource({ group, namespace, name }: AuditAttributes, forms: readonly string[]): boolean {
    if (this.#paths !== undefined || !has(this.#namespaces, namespace)) return false;
    if (this.#resources === undefined) return true;
    return this.#resources.some(
      (each) =>
        (each.group === group || each.group === '*') && hasAny(each.resources, forms) && has(each.resourceNames, name),
    );
  }

  #matchesPath(path: string): boolean {
    if (this.#resources !== undefined || this.#namespaces !== undefined) return false;
    return has(this.#paths, path) || this.#pathPrefixes.some((prefix) => path.startsWith(prefix));
  }
}

/**
 * The forms in which a rule may name the resource of a request. `pods/*` also matches pods themselves, as in
 * k8s.io/apiserver/pkg/audit/policy, though its documentation speaks of subresources only.
 */
export function resourceFormsOf({ resource, subresource }: AuditAttributes): string[] {
  return subresource === ''
    ? ['*', resource, `${resource}/*`]
    : ['*', `${resource}/${subresource}`, `${resource}/*`, `*/${subresource}`];
}

interface CompiledResources {
  readonly group: string;
  readonly resources: Texts | undefined;
  readonly resourceNames: Texts | undefined;
}

function compileResources({ group, resources, resourceNames }: AuditResources): CompiledResources {
  return { group, resources: setOf(resources), resourceNames: setOf(resourceNames) };
}

function setOf(texts: readonly string[]): Texts | undefined {
  return texts.length === 0 ? undefined : new Set(texts);
}

function has(set: Texts | undefined, text: string): boolean {
  return set === undefined || set.has(text);
}

function hasAny(set: Texts | undefined, texts: readonly string[]): boolean {
  return set === undefined || texts.some((text) => set.has(text));
}
