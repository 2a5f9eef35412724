import type { JsonSchema, Model, Scope } from '#pkg/apimachinery/index';

const text: JsonSchema = { type: 'string' };
const texts: JsonSchema = { type: 'array', items: text };
const kept: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const resourceAttributes = object({
  namespace: text,
  verb: text,
  group: text,
  version: text,
  resource: text,
  subresource: text,
  name: text,
  fieldSelector: kept,
  labelSelector: kept,
});
const nonResourceAttributes = object({ path: text, verb: text });
const self = object({ resourceAttributes, nonResourceAttributes });
const anybody = object({
  resourceAttributes,
  nonResourceAttributes,
  user: text,
  groups: texts,
  uid: text,
  extra: { type: 'object', additionalProperties: texts },
});

/**
 * Reviews: a create request is answered with a status, and nothing is stored. Source:
 * authorization.k8s.io/v1 and authentication.k8s.io/v1.
 */
export const selfSubjectAccessReviewModel = modelOf('authorization', 'SelfSubjectAccessReview', self);
export const selfSubjectRulesReviewModel = modelOf(
  'authorization',
  'SelfSubjectRulesReview',
  object({ namespace: text }),
);
export const subjectAccessReviewModel = modelOf('authorization', 'SubjectAccessReview', anybody);
export const localSubjectAccessReviewModel = modelOf(
  'authorization',
  'LocalSubjectAccessReview',
  anybody,
  'Namespaced',
);
export const selfSubjectReviewModel = modelOf('authentication', 'SelfSubjectReview', object({}));
export const tokenReviewModel = modelOf('authentication', 'TokenReview', object({ token: text, audiences: texts }));

export const reviewModels: readonly Model[] = [
  selfSubjectAccessReviewModel,
  selfSubjectRulesReviewModel,
  subjectAccessReviewModel,
  localSubjectAccessReviewModel,
  selfSubjectReviewModel,
  tokenReviewModel,
];

function object(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties };
}

function modelOf(group: string, kind: string, spec: JsonSchema, scope: Scope = 'Cluster'): Model {
  const singular = kind.toLowerCase();
  const schema = object({ apiVersion: text, kind: text, metadata: { type: 'object' }, spec });
  return {
    group: `${group}.k8s.io`,
    names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List`, shortNames: [], categories: [] },
    scope,
    versions: [
      {
        name: 'v1',
        served: true,
        deprecated: false,
        schema,
        subresources: { status: false },
        printerColumns: [],
        selectableFields: [],
      },
    ],
    storageVersion: 'v1',
    indexes: [],
    nameRule: 'path-segment',
  };
}
