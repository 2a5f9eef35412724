import type { CompiledRule } from './compiled-rule.ts';
import type { AccessQuery } from './access-query.ts';

type Rules = ReadonlySet<CompiledRule> | undefined;

/** The rules in effect for a role, indexed by resource: a check reads few of them, however many there are. */
export class RuleIndex {
  readonly #rules = new Set<CompiledRule>();
  readonly #byResource = new Map<string, Set<CompiledRule>>();
  readonly #ofPaths = new Set<CompiledRule>();

  get rules(): ReadonlySet<CompiledRule> {
    return this.#rules;
  }

  add(rules: readonly CompiledRule[]): void {
    for (const rule of rules) {
      this.#rules.add(rule);
      if (rule.hasPaths) this.#ofPaths.add(rule);
      for (const resource of rule.resources) {
        const known = this.#byResource.get(resource);
        if (known === undefined) this.#byResource.set(resource, new Set([rule]));
        else known.add(rule);
      }
    }
  }

  remove(rules: readonly CompiledRule[]): void {
    for (const rule of rules) {
      this.#rules.delete(rule);
      this.#ofPaths.delete(rule);
      for (const resource of rule.resources) {
        const known = this.#byResource.get(resource);
        if (known?.delete(rule) === true && known.size === 0) this.#byResource.delete(resource);
      }
    }
  }

  clear(): void {
    this.#rules.clear();
    this.#byResource.clear();
    this.#ofPaths.clear();
  }

  allows(query: AccessQuery): boolean {
    const { path, resource, anyWithSubresource } = query;
    if (path !== undefined) return this.#allowsPath(query.verb, path);
    return (
      someAllows(this.#byResource.get(resource), query) ||
      someAllows(this.#byResource.get('*'), query) ||
      (anyWithSubresource !== undefined && someAllows(this.#byResource.get(anyWithSubresource), query))
    );
  }

  #allowsPath(verb: string, path: string): boolean {
    for (const rule of this.#ofPaths) if (rule.allowsPath(verb, path)) return true;
    return false;
  }
}

function someAllows(rules: Rules, query: AccessQuery): boolean {
  if (rules === undefined) return false;
  for (const rule of rules) if (rule.allows(query)) return true;
  return false;
}
