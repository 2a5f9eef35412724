import { runAtOnce, type Model, type SlicedWork } from '#pkg/apimachinery/index';
import {
  clusterRoleBindingModel,
  clusterRoleModel,
  fullAuthority,
  roleBindingModel,
  roleModel,
  type PolicyRule,
  type RoleRef,
} from '#pkg/apis/index';
import { systemMasters, type Attributes, type UserInfo } from '#pkg/identity/index';
import type { StoredObject } from '#pkg/storage/index';
import { BindingTable, namespacedKey } from './binding-table.ts';
import type { CompiledRule } from './compiled-rule.ts';
import { commonRules } from './intersect-rules.ts';
import { compactRules, countPermissions, permissionsOf } from './permissions.ts';
import { questionOf, type Question } from './question.ts';
import { compileRules, type RoleEntry } from './role-entry.ts';
import { RoleTable } from './role-table.ts';

/** Roles that a narrowed credential always has: to find out what there is, and what one may do. */
const alwaysAllowed = ['system:basic-user', 'system:discovery'];
/** Permissions that are looked at one by one for one question of who holds what. */
const maxPermissions = 100_000;
/** Missing ones that are told. */
const maxMissing = 1000;

export interface RoleIndexOptions {
  /** Up to when all changes are known here: `performance.now()`. Default: up to now. */
  currentAt?: () => number;
}

/** What there are of one kind: how its objects come to the index and go. */
export interface RoleFollower {
  put(stored: Pick<StoredObject, 'namespace' | 'name' | 'body'>): void;
  remove(key: Pick<StoredObject, 'namespace' | 'name'>): void;
}

/**
 * All roles and bindings, so that it is known at once who may do what. It follows the change feed: what it knows is as
 * old as `lagMs` says at most. Aggregated roles have the rules of those they select, whatever is written in them.
 */
export class RoleIndex {
  readonly #clusterRoles = new RoleTable();
  readonly #roles = new RoleTable();
  readonly #bindings = new BindingTable({ clusterRoles: this.#clusterRoles, roles: this.#roles });
  readonly #currentAt: () => number;
  /** What is followed, by the model. */
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
    ]);
  }

  /** How old what is known here may be at most. Milliseconds. */
  get lagMs(): number {
    return performance.now() - this.#currentAt();
  }

  /** By rules, or as one of `system:masters`; in both cases only what the user's restriction leaves. */
  allows({ user, ...attributes }: Attributes): boolean {
    return this.#allows(user, attributes.namespace, questionOf(attributes));
  }

  /** As `allows`, were there no restriction. */
  allowsOwner({ user, ...attributes }: Attributes): boolean {
    return this.#ownerAllows(user, attributes.namespace, questionOf(attributes));
  }

  /**
   * What of the rules the user does not hold, in the namespace or, where that is '', everywhere: nothing, for somebody
   * who holds all of it. Tells up to a thousand parts of what is missing. More than 100 000 permissions are not looked
   * into: they count as missing, unless the user holds everything there is.
   */
  holds(user: UserInfo, rules: readonly PolicyRule[], namespace = ''): PolicyRule[] {
    return runAtOnce(this.missing(user, rules, namespace));
  }

  /** `holds`, in slices. */
  *missing(user: UserInfo, rules: readonly PolicyRule[], namespace = ''): SlicedWork<PolicyRule[]> {
    return yield* this.#missing(user, compileRules(rules), namespace);
  }

  /** The same of a role's rules; undefined where there is no such role. `namespace` is where it is to hold. */
  *missingOfRole(
    user: UserInfo,
    ref: Pick<RoleRef, 'kind' | 'name'>,
    namespace: string,
  ): SlicedWork<PolicyRule[] | undefined> {
    const role = this.#find(ref, namespace);
    // What changes meanwhile counts for whoever asks next.
    return role?.content === undefined ? undefined : yield* this.#missing(user, [...role.effective.rules], namespace);
  }

  /**
   * Has the user this ClusterRole, so that a credential may be narrowed to it: by a binding, wherever that holds, or by
   * holding all of its rules, everywhere or in a namespace? False where there is none of the name, and where that is
   * too much to find out, as in `holds`.
   */
  hasRole(user: UserInfo, clusterRole: string): boolean {
    const role = this.#find({ kind: 'ClusterRole', name: clusterRole }, '');
    if (role?.content === undefined) return false;
    const places = ['', ...this.#bindings.namespacesOf(user)];
    if (
      user.restriction === undefined &&
      places.some((place) => this.#bindings.some(user, place, (bound) => bound === role))
    )
      return true;
    const limits = { missing: 1, permissions: maxPermissions };
    return places.some(
      (place) => runAtOnce(this.#missing(user, [...role.effective.rules], place, limits)).length === 0,
    );
  }

  /** Does any binding name a user so, in any case and width of letters? */
  isSubject(username: string): boolean {
    return this.#bindings.isSubject(username);
  }

  /** Names of all ClusterRoles that `hasRole` says yes to. */
  rolesOf(user: UserInfo): string[] {
    return Array.from(this.#clusterRoles.names()).filter((name) => this.hasRole(user, name));
  }

  /**
   * Everything that the user may do in the namespace, or, where that is '', everywhere; where a restriction makes that
   * too much to work out, a part of it. Rules may overlap.
   */
  rulesOf(user: UserInfo, namespace: string): { rules: PolicyRule[]; isComplete: boolean } {
    const found = new Set<PolicyRule>();
    if (user.groups.includes(systemMasters)) for (const rule of fullAuthority) found.add(rule);
    this.#bindings.some(user, namespace, ({ effective }) => {
      for (const { rule } of effective.rules) found.add(rule);
      return false;
    });
    const { restriction } = user;
    if (restriction === undefined) return { rules: [...found], isComplete: true };
    const left = this.#restrictionRoles(restriction).flatMap((role) =>
      Array.from(role?.effective.rules ?? [], ({ rule }) => rule),
    );
    return commonRules(found, new Set(left));
  }

  #allows(user: UserInfo, namespace: string, question: Question): boolean {
    const { restriction } = user;
    if (
      restriction !== undefined &&
      !this.#restrictionRoles(restriction).some((role) => role?.effective.allows(question) === true)
    )
      return false;
    return this.#ownerAllows(user, namespace, question);
  }

  #ownerAllows(user: UserInfo, namespace: string, question: Question): boolean {
    return (
      user.groups.includes(systemMasters) ||
      this.#bindings.some(user, namespace, ({ effective }) => effective.allows(question))
    );
  }

  #restrictionRoles({ roles }: NonNullable<UserInfo['restriction']>): (RoleEntry | undefined)[] {
    return [...roles, ...alwaysAllowed].map((name) => this.#clusterRoles.get(name));
  }

  /** What was looked at is taken off `limits.permissions`. */
  *#missing(
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
      for (const { question, rule } of permissionsOf(compiled.rule)) {
        if (!this.#allows(user, namespace, question)) missing.push(rule);
        if (missing.length >= limits.missing) return compactRules(missing);
        yield;
      }
    }
    return compactRules(missing);
  }

  /** Is it one of a role that the user has, as where two roles aggregate the same? Then all of it is held. */
  #hasRule({ restriction, ...owner }: UserInfo, namespace: string, rule: CompiledRule): boolean {
    if (
      restriction !== undefined &&
      !this.#restrictionRoles(restriction).some((role) => role?.effective.rules.has(rule) === true)
    )
      return false;
    return this.#bindings.some(owner, namespace, ({ effective }) => effective.rules.has(rule));
  }

  #holdsEverything(user: UserInfo, namespace: string): boolean {
    return fullAuthority.every((rule) =>
      [...permissionsOf(rule)].every(({ question }) => this.#allows(user, namespace, question)),
    );
  }

  #find({ kind, name }: Pick<RoleRef, 'kind' | 'name'>, namespace: string): RoleEntry | undefined {
    return kind === 'Role' ? this.#roles.get(namespacedKey(namespace, name)) : this.#clusterRoles.get(name);
  }
}
