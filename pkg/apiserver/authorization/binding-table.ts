import { serviceAccountUser, type RoleBinding, type Subject } from '#pkg/apis/index';
import type { UserInfo } from '#pkg/identity/index';
import type { RoleEntry } from './role-entry.ts';
import type { RoleTable } from './role-table.ts';

/** The roles that bindings grant to one user or group. */
interface Grants {
  /** Granted by ClusterRoleBindings. */
  everywhere: readonly Grant[];
  /** Granted by RoleBindings; key: namespace. */
  within: Map<string, readonly Grant[]>;
}

interface Grant {
  /** Key of the binding. */
  binding: string;
  role: RoleEntry;
}

interface KnownBinding {
  namespace: string;
  role: RoleEntry;
  table: RoleTable;
  subjects: readonly SubjectKey[];
}

interface SubjectKey {
  kind: 'users' | 'groups';
  name: string;
}

const none: readonly Grant[] = [];

/** The roles granted to users and groups, by namespace. */
export class BindingTable {
  readonly #clusterRoles: RoleTable;
  readonly #roles: RoleTable;
  readonly #bindings = new Map<string, KnownBinding>();
  /** How many user names are equal except for case and width. */
  readonly #folded = new Map<string, number>();
  readonly #grants = { users: new Map<string, Grants>(), groups: new Map<string, Grants>() };

  constructor(roles: { clusterRoles: RoleTable; roles: RoleTable }) {
    this.#clusterRoles = roles.clusterRoles;
    this.#roles = roles.roles;
  }

  /** `namespace` is '' for a ClusterRoleBinding. */
  put(namespace: string, name: string, body: string): void {
    this.remove(namespace, name);
    const { roleRef, subjects = [] } = JSON.parse(body) as RoleBinding;
    const isRole = roleRef.kind === 'Role';
    const table = isRole ? this.#roles : this.#clusterRoles;
    const binding = namespacedKey(namespace, name);
    const known = {
      namespace,
      table,
      role: table.refer(isRole ? namespacedKey(namespace, roleRef.name) : roleRef.name),
      subjects: subjectKeys(subjects, namespace),
    };
    this.#bindings.set(binding, known);
    for (const subject of known.subjects) this.#give(subject, namespace, { binding, role: known.role });
  }

  remove(namespace: string, name: string): void {
    const binding = namespacedKey(namespace, name);
    const known = this.#bindings.get(binding);
    if (known === undefined) return;
    this.#bindings.delete(binding);
    for (const subject of known.subjects) this.#take(subject, known.namespace, binding);
    known.table.release(known.role);
  }

  /** Whether one of the user's roles, everywhere or in the namespace, satisfies the condition. */
  some({ name, groups }: UserInfo, namespace: string, predicate: (role: RoleEntry) => boolean): boolean {
    if (someOf(this.#grants.users.get(name), namespace, predicate)) return true;
    for (const group of groups) if (someOf(this.#grants.groups.get(group), namespace, predicate)) return true;
    return false;
  }

  /** Whether any binding names such a user; ignores case and width of letters. */
  isNamedByBinding(username: string): boolean {
    return this.#folded.has(folded(username));
  }

  /** The namespaces in which the user has roles. */
  namespacesOf({ name, groups }: UserInfo): Set<string> {
    const all = [this.#grants.users.get(name), ...groups.map((group) => this.#grants.groups.get(group))];
    return new Set(all.flatMap((grants) => [...(grants?.within.keys() ?? [])]));
  }

  #give({ kind, name }: SubjectKey, namespace: string, grant: Grant): void {
    const table = this.#grants[kind];
    const grants = table.get(name) ?? { everywhere: none, within: new Map<string, readonly Grant[]>() };
    if (kind === 'users' && !table.has(name)) this.#countFolded(name, 1);
    table.set(name, grants);
    if (namespace === '') grants.everywhere = [...grants.everywhere, grant];
    else grants.within.set(namespace, [...(grants.within.get(namespace) ?? none), grant]);
  }

  #take({ kind, name }: SubjectKey, namespace: string, binding: string): void {
    const table = this.#grants[kind];
    const grants = table.get(name);
    if (grants === undefined) return;
    const without = (all: readonly Grant[]): Grant[] => all.filter((grant) => grant.binding !== binding);
    if (namespace === '') {
      grants.everywhere = without(grants.everywhere);
    } else {
      const left = without(grants.within.get(namespace) ?? none);
      if (left.length === 0) grants.within.delete(namespace);
      else grants.within.set(namespace, left);
    }
    if (grants.everywhere.length > 0 || grants.within.size > 0) return;
    table.delete(name);
    if (kind === 'users') this.#countFolded(name, -1);
  }

  #countFolded(name: string, by: 1 | -1): void {
    const key = folded(name);
    const count = (this.#folded.get(key) ?? 0) + by;
    if (count === 0) this.#folded.delete(key);
    else this.#folded.set(key, count);
  }
}

function someOf(grants: Grants | undefined, namespace: string, predicate: (role: RoleEntry) => boolean): boolean {
  if (grants === undefined) return false;
  for (const { role } of grants.everywhere) if (predicate(role)) return true;
  if (namespace !== '') for (const { role } of grants.within.get(namespace) ?? none) if (predicate(role)) return true;
  return false;
}

/** Without duplicates; a service account without a namespace is in that of the binding. */
function subjectKeys(subjects: readonly Subject[], own: string): SubjectKey[] {
  const keys = new Map<string, SubjectKey>();
  for (const { kind, name, namespace = '' } of subjects) {
    const key: SubjectKey =
      kind === 'ServiceAccount'
        ? { kind: 'users', name: serviceAccountUser(namespace === '' ? own : namespace, name) }
        : { kind: kind === 'Group' ? 'groups' : 'users', name };
    keys.set(`${key.kind}/${key.name}`, key);
  }
  return [...keys.values()];
}

/** No user has a longer name, and normalising takes time. */
const maxFoldedLength = 512;

function folded(name: string): string {
  return name.length > maxFoldedLength ? name : name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/** A namespace contains no slash. */
export function namespacedKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
