/**
 * Kubernetes' RBAC as documented (https://kubernetes.io/docs/reference/access-authn-authz/rbac/), in the simplest form:
 * no index, no cache, every rule is checked each time.
 */
export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface ResourceRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: cluster-scoped, or all namespaces. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface PathRequest {
  readonly verb: string;
  readonly path: string;
}

export type Attributes = ResourceRequest | PathRequest;

export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

export interface ClusterRole {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly Rule[];
  /** matchLabels of each selector; if present, the role's rules are those of the selected roles. */
  readonly aggregates?: readonly Readonly<Record<string, string>>[];
}

export interface Role {
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly Rule[];
}

export interface Binding {
  readonly name: string;
  /** Absent: a ClusterRoleBinding. */
  readonly namespace?: string;
  readonly role: { readonly kind: 'ClusterRole' | 'Role'; readonly name: string };
  readonly subjects: readonly Subject[];
}

/** The caller as the platform sees them. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
  /** ClusterRoles that restrict a personal token; absent: unrestricted. */
  readonly restriction?: readonly string[];
}

export interface RoleBook {
  readonly clusterRoles: readonly ClusterRole[];
  readonly roles: readonly Role[];
  readonly bindings: readonly Binding[];
}

export const masters = 'system:masters';
/** A restricted token keeps these, and loses all other permissions of every authenticated user. */
const alwaysKept = ['system:discovery', 'system:basic-user'];

export function isAllowed(book: RoleBook, requester: Requester, attributes: Attributes): boolean {
  const namespace = 'path' in attributes ? undefined : attributes.namespace;
  const owner =
    requester.groups.includes(masters) ||
    ownRules(book, requester, namespace).some((rule) => matches(rule, attributes));
  return (
    owner &&
    (requester.restriction === undefined ||
      restrictedRules(book, requester.restriction).some((rule) => matches(rule, attributes)))
  );
}

/** Whether the requester holds all of these rules in the place of the grant. */
export function holdsAll(book: RoleBook, requester: Requester, rules: readonly Rule[], namespace?: string): boolean {
  const covered = (held: readonly Rule[]): boolean =>
    rules.flatMap(singleRules).every((single) => held.some((rule) => covers(rule, single)));
  const owner = requester.groups.includes(masters) || covered(ownRules(book, requester, namespace));
  return owner && (requester.restriction === undefined || covered(restrictedRules(book, requester.restriction)));
}

/** The rules of a ClusterRole, or of a Role in that namespace; undefined if it does not exist. */
export function rulesOf(
  book: RoleBook,
  { kind, name }: Binding['role'],
  namespace?: string,
): readonly Rule[] | undefined {
  if (kind === 'Role') return book.roles.find((role) => role.name === name && role.namespace === namespace)?.rules;
  const role = book.clusterRoles.find((each) => each.name === name);
  return role === undefined ? undefined : rulesOfClusterRole(book, role, new Set());
}

/** An aggregated role's rules are those of its sources, recursively; its stored rules do not count. Cycles are cut. */
function rulesOfClusterRole(book: RoleBook, role: ClusterRole, seen: Set<string>): readonly Rule[] {
  if (seen.has(role.name)) return [];
  seen.add(role.name);
  if (role.aggregates === undefined) return role.rules;
  const isSelected = ({ labels = {} }: ClusterRole): boolean =>
    role.aggregates!.some((selector) => Object.entries(selector).every(([key, value]) => labels[key] === value));
  return book.clusterRoles
    .filter((each) => each !== role && isSelected(each))
    .flatMap((each) => rulesOfClusterRole(book, each, seen));
}

function ownRules(book: RoleBook, requester: Requester, namespace: string | undefined): readonly Rule[] {
  const isMeant = ({ kind, name }: Subject): boolean =>
    kind === 'User' ? name === requester.username : requester.groups.includes(name);
  const counts = (binding: Binding): boolean =>
    (binding.namespace === undefined || binding.namespace === namespace) && binding.subjects.some(isMeant);
  return book.bindings.filter(counts).flatMap((binding) => rulesOf(book, binding.role, binding.namespace) ?? []);
}

function restrictedRules(book: RoleBook, restriction: readonly string[]): readonly Rule[] {
  return [...restriction, ...alwaysKept].flatMap((name) => rulesOf(book, { kind: 'ClusterRole', name }) ?? []);
}

function matches(rule: Rule, attributes: Attributes): boolean {
  if (!hasOrAny(rule.verbs, attributes.verb)) return false;
  if ('path' in attributes) return (rule.nonResourceURLs ?? []).some((url) => matchesPath(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  if (!hasOrAny(rule.apiGroups, group)) return false;
  const isNamed = (rule.resourceNames ?? []).length === 0 || (name !== undefined && rule.resourceNames!.includes(name));
  return isNamed && (rule.resources ?? []).some((each) => matchesResource(each, resource, subresource));
}

/**
 * `posts`, `posts/status`, `*` for all with their subresources, and `* /status` (without the space) for one subresource
 * of all.
 */
function matchesResource(written: string, resource: string, subresource: string | undefined): boolean {
  if (written === '*' || written === (subresource === undefined ? resource : `${resource}/${subresource}`)) return true;
  return subresource !== undefined && written === `*/${subresource}`;
}

function matchesPath(written: string, path: string): boolean {
  return written === '*' || written === path || (written.endsWith('*') && path.startsWith(written.slice(0, -1)));
}

/** Splits a rule into rules of one verb on one resource. */
function singleRules(rule: Rule): Rule[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name]);
  const onResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      names.map((each) => ({ apiGroups: [group], resources: [resource], resourceNames: each })),
    ),
  );
  return verbs.flatMap((verb) => [
    ...onResources.map((each) => ({ verbs: [verb], ...each })),
    ...nonResourceURLs.map((url) => ({ verbs: [verb], nonResourceURLs: [url] })),
  ]);
}

function covers(held: Rule, single: Rule): boolean {
  if (!hasOrAny(held.verbs, single.verbs[0]!)) return false;
  const [url] = single.nonResourceURLs ?? [];
  if (url !== undefined) return (held.nonResourceURLs ?? []).some((each) => matchesPath(each, url));
  const [resource = '', subresource] = single.resources![0]!.split('/');
  const [name] = single.resourceNames ?? [];
  const isNamed = (held.resourceNames ?? []).length === 0 || (name !== undefined && held.resourceNames!.includes(name));
  return (
    isNamed &&
    hasOrAny(held.apiGroups, single.apiGroups![0]!) &&
    (held.resources ?? []).some((each) => matchesResource(each, resource, subresource))
  );
}

function hasOrAny(values: readonly string[] | undefined, value: string): boolean {
  return values !== undefined && (values.includes('*') || values.includes(value));
}
