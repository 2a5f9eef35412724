import type { PolicyRule } from '#pkg/apis/index';
import type { AccessQuery } from './access-query.ts';

const all = '*';

/** One rule, compiled for frequent checks. */
export class CompiledRule {
  readonly rule: PolicyRule;
  /** The keys that it is indexed by: its resources as written; empty for a rule of paths. */
  readonly resources: readonly string[];
  readonly #verbs: ReadonlySet<string>;
  readonly #groups: ReadonlySet<string>;
  /** Undefined: any name. */
  readonly #names: ReadonlySet<string> | undefined;
  readonly #paths: readonly string[];

  constructor(rule: PolicyRule) {
    const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
    this.rule = rule;
    this.resources = [...new Set(resources)];
    this.#verbs = new Set(verbs);
    this.#groups = new Set(apiGroups);
    this.#names = resourceNames.length === 0 ? undefined : new Set(resourceNames);
    this.#paths = nonResourceURLs;
  }

  get hasPaths(): boolean {
    return this.#paths.length > 0;
  }

  /** Call only for a rule that was found by the query's resource. */
  allows({ verb, group, name }: AccessQuery): boolean {
    return (
      this.#hasVerb(verb) &&
      (this.#groups.has(group) || this.#groups.has(all)) &&
      (this.#names === undefined || (name !== undefined && this.#names.has(name)))
    );
  }

  /** `path` may end with a star, as in a rule: true if all paths that it matches are allowed. */
  allowsPath(verb: string, path: string): boolean {
    return this.#hasVerb(verb) && this.#paths.some((own) => coversPath(own, path));
  }

  #hasVerb(verb: string): boolean {
    return this.#verbs.has(verb) || this.#verbs.has(all);
  }
}

/** Source: k8s.io/component-helpers/auth/rbac/validation nonResourceURLCovers. */
export function coversPath(own: string, path: string): boolean {
  if (own === path) return true;
  return own.endsWith(all) && path.startsWith(withoutStars(own));
}

function withoutStars(path: string): string {
  let end = path.length;
  while (end > 0 && path.charCodeAt(end - 1) === 42) end -= 1;
  return path.slice(0, end);
}
