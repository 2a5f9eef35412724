import { equalJson, formatApiVersion, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import {
  clusterRoleBindingType,
  clusterRoleType,
  rbacGroup,
  roleBindingType,
  roleType,
  type PolicyRule,
} from '#pkg/apis/index';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { compactRules, permissionsOf } from '../permissions.ts';
import { compileRules } from '../role-entry.ts';
import { RuleIndex } from '../rule-index.ts';
import type { BootstrapBinding } from './bootstrap-bindings.ts';
import { aggregateLabel, type BootstrapRole } from './bootstrap-roles.ts';

/** The annotation that keeps a role or binding unchanged: `"false"`. */
export const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';
const mark = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const apiVersion = formatApiVersion({ group: rbacGroup, version: 'v1' });

export function roleObject({ name, namespace, rules, aggregates = false, partOf = [] }: BootstrapRole): JsonApiObject {
  const labels = Object.fromEntries(partOf.map((role) => [aggregateLabel(role), 'true']));
  const selectors = [{ matchLabels: { [aggregateLabel(name)]: 'true' } }];
  return object(
    namespace === undefined ? clusterRoleType : roleType,
    { name, namespace, labels },
    aggregates ? { aggregationRule: { clusterRoleSelectors: selectors } } : { rules },
  );
}

export function bindingObject({ name, namespace, role, group }: BootstrapBinding): JsonApiObject {
  const isCluster = namespace === undefined;
  const roleRef = { apiGroup: rbacGroup, kind: (isCluster ? clusterRoleType : roleType).kind, name: role };
  const subjects = [{ apiGroup: rbacGroup, kind: 'Group', name: group }];
  return object(
    isCluster ? clusterRoleBindingType : roleBindingType,
    { name, namespace, labels: {} },
    { roleRef, subjects },
  );
}

/** The present object plus the missing parts of the wanted one. */
export function reconciled(present: JsonApiObject, wanted: JsonApiObject): JsonApiObject {
  const { metadata } = present;
  return {
    ...present,
    metadata: {
      ...metadata,
      labels: { ...wanted.metadata.labels, ...metadata.labels },
      annotations: { ...wanted.metadata.annotations, ...metadata.annotations },
    },
    ...('rules' in wanted ? { rules: withRules(list(present['rules']), list(wanted['rules'])) } : {}),
    ...('subjects' in wanted ? { subjects: withMembers(list(present['subjects']), list(wanted['subjects'])) } : {}),
    ...('aggregationRule' in wanted
      ? { aggregationRule: withSelectors(present['aggregationRule'], wanted['aggregationRule']) }
      : {}),
  } as JsonApiObject;
}

interface Names {
  name: string;
  namespace: string | undefined;
  labels: Record<string, string>;
}

function object({ kind }: { kind: string }, { name, namespace, labels }: Names, content: unknown): JsonApiObject {
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: { ...mark, ...labels },
    annotations: { [autoUpdate]: 'true' },
  };
  return { apiVersion, kind, metadata, ...(content as JsonObject) };
}

function withRules(present: readonly JsonValue[], wanted: readonly JsonValue[]): JsonValue[] {
  const held = new RuleIndex();
  held.add(compileRules(present as unknown as PolicyRule[]));
  const missing = (wanted as unknown as PolicyRule[]).flatMap((rule) =>
    [...permissionsOf(rule)].filter(({ query }) => !held.allows(query)).map((permission) => permission.rule),
  );
  return [...present, ...(compactRules(missing) as unknown as JsonValue[])];
}

function withSelectors(present: JsonValue | undefined, wanted: JsonValue | undefined): JsonValue {
  const selectorsOf = (aggregation: JsonValue | undefined): JsonValue[] =>
    list((aggregation as JsonObject | undefined)?.['clusterRoleSelectors']);
  return { clusterRoleSelectors: withMembers(selectorsOf(present), selectorsOf(wanted)) };
}

function withMembers(present: readonly JsonValue[], wanted: readonly JsonValue[]): JsonValue[] {
  return [...present, ...wanted.filter((member) => !present.some((each) => equalJson(each, member)))];
}

function list(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
