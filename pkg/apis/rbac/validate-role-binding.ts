import {
  fieldError,
  isJsonObject,
  validateName,
  type JsonObject,
  type JsonValue,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { rbacGroup } from './policy-rule.ts';

const maxCauses = 100;

/**
 * Sets the default API group: this group for users and groups, '' for service accounts. Changes `binding` in place; its
 * types may be wrong.
 */
export function defaultRoleBinding({ roleRef, subjects }: JsonObject): void {
  if (isJsonObject(roleRef) && (roleRef['apiGroup'] ?? '') === '') roleRef['apiGroup'] = rbacGroup;
  if (!Array.isArray(subjects)) return;
  for (const subject of subjects) {
    if (
      isJsonObject(subject) &&
      (subject['apiGroup'] ?? '') === '' &&
      (subject['kind'] === 'User' || subject['kind'] === 'Group')
    )
      subject['apiGroup'] = rbacGroup;
  }
}

/**
 * Errors in the role and the subjects of a RoleBinding or ClusterRoleBinding; at most 100 causes. The schema checks the
 * types. Source: k8s.io/kubernetes/pkg/apis/rbac/validation.
 */
export function validateRoleBinding(
  binding: JsonObject,
  { namespaced, old }: { namespaced: boolean; old: JsonObject | undefined },
): StatusCause[] {
  const { roleRef, subjects } = binding;
  const causes = isJsonObject(roleRef) ? roleRefCauses(roleRef, namespaced) : [];
  for (const [index, subject] of (Array.isArray(subjects) ? subjects : []).entries()) {
    if (causes.length >= maxCauses) break;
    if (isJsonObject(subject)) causes.push(...subjectCauses(subject, `subjects[${index}]`, namespaced));
  }
  if (old !== undefined && !isSameRole(roleRef, old['roleRef']))
    causes.push(fieldError.invalid('roleRef', roleRef, 'cannot change roleRef'));
  return causes.slice(0, maxCauses);
}

function roleRefCauses({ apiGroup, kind, name }: JsonObject, namespaced: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (apiGroup !== rbacGroup) causes.push(fieldError.notSupported('roleRef.apiGroup', apiGroup, [rbacGroup]));
  if (!kinds.includes(text(kind))) causes.push(fieldError.notSupported('roleRef.kind', kind, kinds));
  if (text(name) === '') return [...causes, fieldError.required('roleRef.name')];
  const violation = validateName(text(name), 'path-segment');
  return violation === undefined ? causes : [...causes, fieldError.invalid('roleRef.name', name, violation)];
}

function subjectCauses(
  { kind, apiGroup = '', name, namespace = '' }: JsonObject,
  field: string,
  namespaced: boolean,
): StatusCause[] {
  const causes = text(name) === '' ? [fieldError.required(`${field}.name`)] : [];
  if (kind === 'ServiceAccount') {
    const violation = text(name) === '' ? undefined : validateName(text(name), 'dns-subdomain');
    if (violation !== undefined) causes.push(fieldError.invalid(`${field}.name`, name, violation));
    if (apiGroup !== '') causes.push(fieldError.notSupported(`${field}.apiGroup`, apiGroup, ['']));
    if (!namespaced && namespace === '') causes.push(fieldError.required(`${field}.namespace`));
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== rbacGroup) causes.push(fieldError.notSupported(`${field}.apiGroup`, apiGroup, [rbacGroup]));
  } else {
    causes.push(fieldError.notSupported(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  }
  return causes;
}

function isSameRole(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  return one['apiGroup'] === other['apiGroup'] && one['kind'] === other['kind'] && one['name'] === other['name'];
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
