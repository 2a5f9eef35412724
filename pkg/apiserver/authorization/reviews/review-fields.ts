import type { FieldType, MessageFields } from '../../protobuf/decode-protobuf.ts';

/** Source of all: generated.proto of k8s.io/api/authorization/v1 and authentication/v1. */
const resourceAttributes = message('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name');
const nonResourceAttributes = message('path', 'verb');
const self: MessageFields = {
  1: { name: 'resourceAttributes', type: { message: resourceAttributes } },
  2: { name: 'nonResourceAttributes', type: { message: nonResourceAttributes } },
};
const anybody: MessageFields = {
  ...self,
  3: { name: 'user', type: 'text' },
  4: { name: 'groups', type: 'texts' },
  5: { name: 'extra', type: 'lists' },
  6: { name: 'uid', type: 'text' },
};

/** The fields of each kind of review. Selectors, which would only narrow the check, are skipped. */
export const reviewFields: Readonly<Record<string, MessageFields>> = {
  SelfSubjectAccessReview: withSpec(self),
  SelfSubjectRulesReview: withSpec(message('namespace')),
  SubjectAccessReview: withSpec(anybody),
  LocalSubjectAccessReview: withSpec(anybody),
  SelfSubjectReview: {},
  TokenReview: withSpec({ 1: { name: 'token', type: 'text' }, 2: { name: 'audiences', type: 'texts' } }),
};

/** A message of text fields, numbered from 1. */
function message(...names: string[]): MessageFields {
  return Object.fromEntries(
    names.map((name, index): [number, { name: string; type: FieldType }] => [index + 1, { name, type: 'text' }]),
  );
}

function withSpec(type: MessageFields): MessageFields {
  return { 2: { name: 'spec', type: { message: type } } };
}
