import {
  fieldError,
  isJsonObject,
  newBadRequest,
  newInvalid,
  type JsonObject,
  type StatusCause,
} from '#pkg/apimachinery/index';
import type { Attributes, Authorizer, UserInfo } from '#pkg/identity/index';
import { reviewedUser, type Reviewer } from './review.ts';

const maxLagMs = 5000;

/** Whether the caller may do this. */
export const reviewSelf: Reviewer = async ({ parts, user, spec }) => {
  refuse('SelfSubjectAccessReview', attributesCauses(spec));
  return decide(parts.authorizer, user, spec);
};

/** Whether another user may do this. */
export const reviewSubject: Reviewer = async ({ parts, spec }) => {
  refuse('SubjectAccessReview', [...attributesCauses(spec), ...subjectCauses(spec)]);
  return decide(parts.authorizer, reviewedUser(spec), spec);
};

/** Whether another user may do this in the namespace. */
export const reviewSubjectLocally: Reviewer = async ({ parts, spec, namespace }) => {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const causes = [...attributesCauses(spec), ...subjectCauses(spec)];
  if (nonResourceAttributes !== undefined)
    causes.push(
      fieldError.invalid('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request'),
    );
  if (isJsonObject(resourceAttributes) && resourceAttributes['namespace'] !== namespace) {
    causes.push(
      fieldError.invalid(
        'spec.resourceAttributes.namespace',
        resourceAttributes['namespace'] ?? '',
        'must match metadata.namespace',
      ),
    );
  }
  refuse('LocalSubjectAccessReview', causes);
  return decide(parts.authorizer, reviewedUser(spec), spec);
};

/** The caller's permissions in the namespace. */
export const reviewRules: Reviewer = async ({ parts: { roles }, user, spec }) => {
  const { namespace = '' } = spec;
  if (typeof namespace !== 'string' || namespace === '') throw newBadRequest('no namespace on request');
  const { rules, isComplete } = roles.rulesOf(user, namespace);
  const resourceRules = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length === 0);
  const nonResourceRules = rules
    .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
    .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs }));
  return {
    resourceRules: resourceRules.map(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) => ({
      verbs,
      apiGroups,
      resources,
      ...(resourceNames.length === 0 ? {} : { resourceNames }),
    })),
    nonResourceRules,
    incomplete: !isComplete || roles.lagMs > maxLagMs,
  };
};

async function decide(authorizer: Authorizer, user: UserInfo, spec: JsonObject): Promise<JsonObject> {
  const { allowed, reason } = await authorizer.authorize(attributesOf(user, spec));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

function attributesOf(user: UserInfo, { resourceAttributes, nonResourceAttributes }: JsonObject): Attributes {
  const {
    namespace = '',
    verb = '',
    group = '',
    version = '',
    resource = '',
    subresource = '',
    name = '',
  } = (resourceAttributes ?? {}) as Record<string, string>;
  if (resourceAttributes !== undefined)
    return { user, verb, group, version, resource, subresource, namespace, name, isResourceRequest: true, path: '' };
  const { path = '', verb: method = '' } = (nonResourceAttributes ?? {}) as Record<string, string>;
  return { user, verb: method, group, version, resource, subresource, namespace, name, isResourceRequest: false, path };
}

/** Source of these: k8s.io/kubernetes/pkg/apis/authorization/validation. */
function attributesCauses({ resourceAttributes, nonResourceAttributes }: JsonObject): StatusCause[] {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    return [
      fieldError.invalid(
        'spec.nonResourceAttributes',
        nonResourceAttributes,
        'cannot be specified in combination with resourceAttributes',
      ),
    ];
  }
  if (resourceAttributes !== undefined || nonResourceAttributes !== undefined) return [];
  return [
    fieldError.invalid(
      'spec.resourceAttributes',
      null,
      'exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ),
  ];
}

function subjectCauses({ user = '', groups = [] }: JsonObject): StatusCause[] {
  return user === '' && Array.isArray(groups) && groups.length === 0
    ? [fieldError.required('spec.user', 'at least one of user or group must be specified')]
    : [];
}

function refuse(kind: string, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw newInvalid({ group: 'authorization.k8s.io', kind }, '', causes);
}
