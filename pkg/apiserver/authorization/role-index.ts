import { runSync, type Model, type SlicedWork } from '#pkg/apimachinery/index';
import {
  clusterRoleBindingModel,
  clusterRoleModel,
  consolePageModel,
  fullAuthority,
  roleBindingModel,
  roleModel,
  type PolicyRule,
  type RoleRef,
} from '#pkg/apis/index';
import { systemMasters, type ActingPage, type Attributes, type UserInfo } from '#pkg/identity/index';
import type { StoredObject } from '#pkg/storage/index';
import { BindingTable, namespacedKey } from './binding-table.ts';
import type { CompiledRule } from './compiled-rule.ts';
import { intersectRules } from './intersect-rules.ts';
import { PageTable } from './page-table.ts';
import { compactRules, countPermissions, permissionsOf } from './permissions.ts';
import { accessQueryOf, type AccessQuery } from './access-query.ts';
import { compileRules, type RoleEntry } from './role-entry.ts';
import { RoleTable } from './role-table.ts';

/** Roles that a restricted credential always has: discovery, and reviews of its own permissions. */
const alwaysAllowed = ['system:basic-user', 'system:discovery'];
/** Permissions that one `missingRules` check expands at most. */
const maxPermissions = 100_000;
/** Missing permissions that a check reports at most. */
const maxMissing = 1000;

export interface RoleIndexOptions {
  /** The time up to which all changes are known here, by `performance.now()`. Default: now. */
  currentAt?: () => number;
}

/** How objects of one kind are added to the index and removed. */
export interface RoleFollower {
  put(stored: Pick<StoredObject, 'namespace' | 'name' | 'body'>): void;
  remove(key: Pick<StoredObject, 'namespace' | 'name'>): void;
}

/**
 * Holds all roles and bindings in memory, so that permission checks need no I/O. It follows the change feed, and is at
 * most `lagMs` behind. An aggregated role has the rules of the roles that it selects; its own rules are ignored.
 */
export class RoleIndex {
  readonly #clusterRoles = new RoleTable();
  readonly #roles = new RoleTable();
  readonly #bindings = new BindingTable({ clusterRoles: this.#clusterRoles, roles: this.#roles });
  readonly #pages = new PageTable();
  readonly #currentAt: () => number;
  /** The kinds in the index, by model. */
  readonly followers: ReadonlyMap<Model, RoleFollower>;

  constructor({ currentAt = () => performance.now() }: RoleIndexOptions = {}) {
    this.#currentAt = currentAt;
    const bindings: RoleFollower = {
      put: ({ namespace, name, body }) => this.#bindings.put(namespace, name, body),
      remove: ({ namespace, name }) => this.#bindings.remove(namespace, name),
    };
    this.followers = new Map([
      [
        clusterRoleModel,
        {
          put: ({ name, body }) => this.#clusterRoles.put(name, body),
          remove: ({ name }) => this.#clusterRoles.remove(name),
        },
      ],
      [
        roleModel,
        {
          put: ({ namespace, name, body }) => this.#roles.put(namespacedKey(namespace, name), body),
          remove: ({ namespace, name }) => this.#roles.remove(namespacedKey(namespace, name)),
        },
      ],
      [clusterRoleBindingModel, bindings],
      [roleBindingModel, bindings],
      [
        consolePageModel,
        {
          put: ({ name, body }) => this.#pages.put(name, body),
          remove: ({ name }) => this.#pages.remove(name),
        },
      ],
    ]);
  }

  /** Maximum age of the index. Milliseconds. */
  get lagMs(): number {
    return performance.now() - this.#currentAt();
  }

  /**
   * Whether the user's rules, or the group `system:masters`, allow it, and neither the user's
   * restriction nor the page of the request denies it.
   */
  allows({ user, ...attributes }: Attributes): boolean {
    return this.#allows(user, attributes.namespace, accessQueryOf(attributes));
  }

  /** The page of a plugin with this name. */
  findPage(name: string): ActingPage | undefined {
    return this.#pages.get(name);
  }

  /** Whether the rules of the page allow it, for a user who may do everything. */
  pageAllows({ name }: ActingPage, attributes: Omit<Attributes, 'user'>): boolean {
    return this.#pages.allows(name, accessQueryOf(attributes));
  }

  /** As `allows`, but without the restriction. */
  allowsOwner({ user, ...attributes }: Attributes): boolean {
    return this.#ownerAllows(user, attributes.namespace, accessQueryOf(attributes));
  }

  /**
   * The rules that the user does not hold in the namespace; '' means in all namespaces. Empty if the user holds all of
   * them. Reports up to 1000 missing parts. More than 100 000 permissions are not expanded: they count as missing
   * unless the user holds everything.
   */
  missingRules(user: UserInfo, rules: readonly PolicyRule[], namespace = ''): PolicyRule[] {
    return runSync(this.findMissingRules(user, rules, namespace));
  }

  /** `missingRules`, in slices. */
  *findMissingRules(user: UserInfo, rules: readonly PolicyRule[], namespace = ''): SlicedWork<PolicyRule[]> {
    return yield* this.#findMissing(user, compileRules(rules), namespace);
  }

  /** As `findMissingRules`, for the rules of a role; undefined without such a role. `namespace`: where it should hold. */
  *findMissingRulesOfRole(
    user: UserInfo,
    ref: Pick<RoleRef, 'kind' | 'name'>,
    namespace: string,
  ): SlicedWork<PolicyRule[] | undefined> {
    const role = this.#find(ref, namespace);
    // Changes during the check count for the next check.
    return role?.content === undefined
      ? undefined
      : yield* this.#findMissing(user, [...role.effective.rules], namespace);
  }

  /**
   * Whether the user has this ClusterRole, so that a credential may be restricted to it: by any binding, or by holding
   * all of its rules, everywhere or in a namespace. False without such a role, or if the check is too large, as in
   * `missingRules`.
   */
  hasRole(user: UserInfo, clusterRole: string): boolean {
    const role = this.#find({ kind: 'ClusterRole', name: clusterRole }, '');
    if (role?.content === undefined) return false;
    const places = ['', ...this.#bindings.namespacesOf(user)];
    if (
      user.restriction === undefined &&
      user.page === undefined &&
      places.some((place) => this.#bindings.some(user, place, (bound) => bound === role))
    )
      return true;
    const limits = { missing: 1, permissions: maxPermissions };
    return places.some(
      (place) => runSync(this.#findMissing(user, [...role.effective.rules], place, limits)).length === 0,
    );
  }

  /** Whether any binding names such a user; ignores case and width of letters. */
  isNamedByBinding(username: string): boolean {
    return this.#bindings.isNamedByBinding(username);
  }

  /** Names of all ClusterRoles for which `hasRole` is true. */
  rolesOf(user: UserInfo): string[] {
    return Array.from(this.#clusterRoles.names()).filter((name) => this.hasRole(user, name));
  }

  /**
   * All rules of the user in the namespace; '' means in all namespaces. Only a part of them if a restriction makes the
   * result too large. Rules may overlap.
   */
  rulesOf(user: UserInfo, namespace: string): { rules: PolicyRule[]; isComplete: boolean } {
    const found = new Set<PolicyRule>();
    if (user.groups.includes(systemMasters)) for (const rule of fullAuthority) found.add(rule);
    this.#bindings.some(user, namespace, ({ effective }) => {
      for (const { rule } of effective.rules) found.add(rule);
      return false;
    });
    const { restriction, page } = user;
    const own = page === undefined ? undefined : intersectRules(found, new Set(this.#pages.rulesOf(page.name)));
    const isWhole = own?.isComplete ?? true;
    if (restriction === undefined) return { rules: own?.rules ?? [...found], isComplete: isWhole };
    const left = this.#restrictionRoles(restriction).flatMap((role) =>
      Array.from(role?.effective.rules ?? [], ({ rule }) => rule),
    );
    const { rules, isComplete } = intersectRules(own === undefined ? found : new Set(own.rules), new Set(left));
    return { rules, isComplete: isComplete && isWhole };
  }

  #allows(user: UserInfo, namespace: string, query: AccessQuery): boolean {
    const { restriction, page } = user;
    if (page !== undefined && !this.#pages.allows(page.name, query)) return false;
    if (
      restriction !== undefined &&
      !this.#restrictionRoles(restriction).some((role) => role?.effective.allows(query) === true)
    )
      return false;
    return this.#ownerAllows(user, namespace, query);
  }

  #ownerAllows(user: UserInfo, namespace: string, query: AccessQuery): boolean {
    return (
      user.groups.includes(systemMasters) ||
      this.#bindings.some(user, namespace, ({ effective }) => effective.allows(query))
    );
  }

  #restrictionRoles({ roles }: NonNullable<UserInfo['restriction']>): (RoleEntry | undefined)[] {
    return [...roles, ...alwaysAllowed].map((name) => this.#clusterRoles.get(name));
  }

  /** Subtracts the expanded permissions from `limits.permissions`. */
  *#findMissing(
    user: UserInfo,
    rules: readonly CompiledRule[],
    namespace: string,
    limits = { missing: maxMissing, permissions: maxPermissions },
  ): SlicedWork<PolicyRule[]> {
    if (this.#holdsEverything(user, namespace)) return [];
    const missing: PolicyRule[] = [];
    for (const compiled of rules) {
      if (this.#hasRule(user, namespace, compiled)) continue;
      limits.permissions -= countPermissions(compiled.rule);
      if (limits.permissions < 0) return compactRules([...missing, compiled.rule]);
      for (const { query, rule } of permissionsOf(compiled.rule)) {
        if (!this.#allows(user, namespace, query)) missing.push(rule);
        if (missing.length >= limits.missing) return compactRules(missing);
        yield;
      }
    }
    return compactRules(missing);
  }

  /** Whether the rule is one of a role that the user has, for example because two roles aggregate it. */
  #hasRule({ restriction, ...owner }: UserInfo, namespace: string, rule: CompiledRule): boolean {
    if (owner.page !== undefined) return false;
    if (
      restriction !== undefined &&
      !this.#restrictionRoles(restriction).some((role) => role?.effective.rules.has(rule) === true)
    )
      return false;
    return this.#bindings.some(owner, namespace, ({ effective }) => effective.rules.has(rule));
  }

  #holdsEverything(user: UserInfo, namespace: string): boolean {
    return fullAuthority.every((rule) =>
      [...permissionsOf(rule)].every(({ query }) => this.#allows(user, namespace, query)),
    );
  }

  #find({ kind, name }: Pick<RoleRef, 'kind' | 'name'>, namespace: string): RoleEntry | undefined {
    return kind === 'Role' ? this.#roles.get(namespacedKey(namespace, name)) : this.#clusterRoles.get(name);
  }
}
