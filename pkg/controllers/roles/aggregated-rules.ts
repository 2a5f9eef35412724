import { matchesLabels, type LabelRequirement, type LabelSelector } from '#pkg/apimachinery/index';
import type { ClusterRole, PolicyRule, RoleSelector } from '#pkg/apis/index';

/**
 * The rules of each ClusterRole with an aggregation rule, by name: the distinct rules of all roles that it selects
 * directly or indirectly, in the order of the roles' names. Ignores the stored rules of aggregating roles, so that
 * roles which select each other keep no stale rules.
 */
export function aggregatedRules(roles: readonly ClusterRole[]): Map<string, PolicyRule[]> {
  const sorted = roles.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const selected = new Map(
    sorted.flatMap((role) => (role.aggregationRule === undefined ? [] : [[role, selectedBy(role, sorted)] as const])),
  );
  return new Map(Array.from(selected.keys(), (role) => [role.metadata.name, rulesOf(role, sorted, selected)]));
}

function rulesOf(
  role: ClusterRole,
  sorted: readonly ClusterRole[],
  selected: ReadonlyMap<ClusterRole, readonly ClusterRole[]>,
): PolicyRule[] {
  const reached = new Set([role]);
  // The set grows during the iteration.
  for (const each of reached) for (const other of selected.get(each) ?? []) reached.add(other);
  return distinct(sorted.filter((each) => reached.has(each) && !selected.has(each)).flatMap(({ rules = [] }) => rules));
}

function selectedBy(role: ClusterRole, roles: readonly ClusterRole[]): ClusterRole[] {
  const selectors = (role.aggregationRule?.clusterRoleSelectors ?? []).map(labelSelectorFrom);
  return roles.filter(
    (each) => each !== role && selectors.some((selector) => matchesLabels(selector, each.metadata.labels)),
  );
}

/** The server accepts only these operators. */
function labelSelectorFrom({ matchLabels = {}, matchExpressions = [] }: RoleSelector): LabelSelector {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] })),
    ...matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator, values }) as LabelRequirement),
  ];
}

function distinct(rules: readonly PolicyRule[]): PolicyRule[] {
  const textOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
    JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
  return Array.from(new Map(rules.map((rule) => [textOf(rule), rule])).values());
}
