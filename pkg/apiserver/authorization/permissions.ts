import type { PolicyRule } from '#pkg/apis/index';
import type { AccessQuery } from './access-query.ts';

/** One permission of a rule: a query, and the rule that allows exactly that. */
export interface Permission {
  query: AccessQuery;
  rule: PolicyRule;
}

/** The number of permissions in a rule. */
export function countPermissions({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): number {
  if (nonResourceURLs.length > 0) return verbs.length * nonResourceURLs.length;
  return verbs.length * apiGroups.length * resources.length * Math.max(resourceNames.length, 1);
}

/**
 * The single permissions of a rule, since a user may hold some of them from one rule and some from another. Source:
 * k8s.io/component-helpers/auth/rbac/validation BreakdownRule.
 */
export function* permissionsOf({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): Generator<Permission> {
  for (const path of nonResourceURLs)
    for (const verb of verbs)
      yield { query: { verb, group: '', resource: '', path }, rule: { verbs: [verb], nonResourceURLs: [path] } };
  if (nonResourceURLs.length > 0) return;
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const name of names)
        for (const verb of verbs)
          yield {
            query: resourceQuery({ verb, group, resource, name }),
            rule: resourceRule({ verb, group, resource, name }),
          };
    }
  }
}

/**
 * Merges rules of the same resource or path into one with all their verbs. Source:
 * k8s.io/kubernetes/pkg/registry/rbac/validation CompactRules.
 */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const compact = new Map<string, PolicyRule>();
  for (const { verbs, ...about } of rules) {
    const key = JSON.stringify(about);
    const known = compact.get(key);
    compact.set(key, { verbs: [...new Set([...(known?.verbs ?? []), ...verbs])], ...about });
  }
  return [...compact.values()];
}

/**
 * `{APIGroups:["g"], Resources:["posts"], Verbs:["get" "list"]}`. Source: k8s.io/kubernetes/pkg/apis/rbac/v1
 * CompactString.
 */
export function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts = {
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
    Verbs: verbs,
  };
  const shown = Object.entries(parts).flatMap(([name, values]) =>
    values === undefined || values.length === 0 ? [] : [`${name}:${quotedList(values)}`],
  );
  return `{${shown.join(', ')}}`;
}

/** A list of texts as Go prints it. */
export function quotedList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
}

interface Part {
  verb: string;
  group: string;
  resource: string;
  name: string | undefined;
}

function resourceQuery({ verb, group, resource, name }: Part): AccessQuery {
  const slash = resource.indexOf('/');
  return {
    verb,
    group,
    resource,
    ...(slash === -1 ? {} : { anyWithSubresource: `*${resource.slice(slash)}` }),
    ...(name === undefined ? {} : { name }),
  };
}

function resourceRule({ verb, group, resource, name }: Part): PolicyRule {
  return {
    verbs: [verb],
    apiGroups: [group],
    resources: [resource],
    ...(name === undefined ? {} : { resourceNames: [name] }),
  };
}
