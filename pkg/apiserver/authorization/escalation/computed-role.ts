import { equalJson, isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { pluginsGroup, pluginUser, type PolicyRule, type RoleRef, type Subject } from '#pkg/apis/index';
import { systemControllers } from '#pkg/identity/index';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { pluginImpersonatorRole } from './platform-roles.ts';

/** `spec.permissions` of a stored Plugin; undefined if there is no such Plugin. */
export type FindPluginPermissions = (plugin: string) => Promise<JsonValue[] | undefined>;

const pluginUsers = pluginUser('');

/**
 * Whether a ClusterRole has the rules that the platform computes for it: those of the stored Plugin, or the right to
 * impersonate plugins. False for any other role, and if a new label could make it part of an aggregated role.
 */
export async function hasComputedRules(
  object: JsonApiObject,
  old: JsonApiObject | undefined,
  permissionsOf: FindPluginPermissions,
): Promise<boolean> {
  const { name } = object.metadata;
  if (object['aggregationRule'] !== undefined || hasNewLabel(object, old)) return false;
  const rules = (object['rules'] ?? []) as JsonValue[];
  if (name === pluginImpersonatorRole)
    return (rules as unknown as PolicyRule[]).every((rule) => isImpersonationOfPlugins(rule));
  return (
    name.startsWith(pluginUsers) && equalJson(rules, (await permissionsOf(name.slice(pluginUsers.length))) ?? null)
  );
}

/** Whether an update changes nothing but the stored rules of an aggregated role, which are never in effect. */
export function changesOnlyAggregatedRules(object: JsonApiObject, old: JsonApiObject | undefined): boolean {
  const rule = object['aggregationRule'];
  return (
    rule !== undefined &&
    old !== undefined &&
    equalJson(rule, old['aggregationRule'] ?? null) &&
    !hasNewLabel(object, old)
  );
}

/** Whether a ClusterRoleBinding gives a plugin's role, or the impersonation of plugins, to exactly whom it is for. */
export function isComputedBinding({ metadata: { name }, roleRef, subjects }: JsonApiObject): boolean {
  const ref = roleRef as unknown as RoleRef;
  const [subject, ...others] = (subjects ?? []) as unknown as Subject[];
  if (ref.kind !== 'ClusterRole' || ref.name !== name || subject === undefined || others.length > 0) return false;
  return name === pluginImpersonatorRole
    ? subject.kind === 'Group' && subject.name === systemControllers
    : name.startsWith(pluginUsers) && subject.kind === 'User' && subject.name === name;
}

function isImpersonationOfPlugins({
  verbs,
  apiGroups,
  resources,
  resourceNames = [],
  nonResourceURLs,
}: PolicyRule): boolean {
  if (nonResourceURLs !== undefined || resourceNames.length === 0) return false;
  if (!equalJson({ verbs, apiGroups } as JsonObject, { verbs: ['impersonate'], apiGroups: [''] })) return false;
  return equalJson(resources ?? [], ['users'])
    ? resourceNames.every((each) => each.startsWith(pluginUsers))
    : equalJson({ resources, resourceNames } as JsonObject, { resources: ['groups'], resourceNames: [pluginsGroup] });
}

function hasNewLabel(object: JsonApiObject, old: JsonApiObject | undefined): boolean {
  const before = old?.metadata.labels ?? {};
  return Object.entries(object.metadata.labels ?? {}).some(([key, value]) => before[key] !== value);
}

/** The rules of a Plugin's `spec.permissions`. */
export function permissionsIn({ spec }: JsonApiObject): JsonValue[] {
  const permissions = isJsonObject(spec) ? spec['permissions'] : undefined;
  return Array.isArray(permissions) ? permissions : [];
}
