import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { AuditPolicy, parseAuditPolicy, type AuditAttributes } from './audit-policy.ts';
import { auditStages } from './audit-stage.ts';

const tim = { name: 'tim@k8s.io', uid: '', groups: ['humans', 'developers'] };
/** Reads the log of a pod; `pod` reads the pod itself. */
const podLog: AuditAttributes = {
  user: tim,
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: 'log',
  namespace: 'default',
  name: 'busybox',
  isResourceRequest: true,
  path: '/api/v1/namespaces/default/pods/busybox/log',
};
const pod: AuditAttributes = { ...podLog, subresource: '' };
const clusterRole: AuditAttributes = {
  ...pod,
  group: 'rbac.authorization.k8s.io',
  resource: 'clusterroles',
  namespace: '',
  name: 'edit',
};
const logs: AuditAttributes = {
  ...pod,
  resource: '',
  namespace: '',
  name: '',
  isResourceRequest: false,
  path: '/logs/kubelet.log',
};

function policyOf(rules: JsonObject[], rest: JsonObject = {}): AuditPolicy {
  return parseAuditPolicy(JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules, ...rest }));
}

const core = (...resources: string[]): JsonObject => ({ resources: [{ group: '', resources }] });

describe('a rule', () => {
  test.each<[reason: string, rule: JsonObject, request: AuditAttributes, matches: boolean]>([
    ['without conditions: a resource', {}, pod, true],
    ['without conditions: a path', {}, logs, true],
    ['with empty lists', { users: [], userGroups: [], verbs: [], resources: [], namespaces: [] }, pod, true],
    ['with empty lists: a path', { nonResourceURLs: [], resources: [], namespaces: [] }, logs, true],

    ['users: its name', { users: ['ada', 'tim@k8s.io'] }, pod, true],
    ['users: another name', { users: ['ada'] }, pod, false],
    ['users: a group is no name', { users: ['humans'] }, pod, false],
    ['users: a star is no wildcard', { users: ['*'] }, pod, false],
    ['userGroups: one of its groups', { userGroups: ['robots', 'developers'] }, pod, true],
    ['userGroups: another group', { userGroups: ['robots'] }, pod, false],
    ['userGroups: a user without groups', { userGroups: ['humans'] }, { ...pod, user: { ...tim, groups: [] } }, false],
    ['users and userGroups: both must match', { users: ['ada'], userGroups: ['humans'] }, pod, false],
    ['verbs: its verb', { verbs: ['list', 'get'] }, pod, true],
    ['verbs: another verb', { verbs: ['list'] }, pod, false],
    ['verbs: a path has one too', { verbs: ['get'] }, logs, true],

    ['namespaces: its namespace', { namespaces: ['default'] }, pod, true],
    ['namespaces: another namespace', { namespaces: ['kube-system'] }, pod, false],
    ['namespaces: empty is cluster-scoped', { namespaces: [''] }, clusterRole, true],
    ['namespaces: empty is not a namespaced one', { namespaces: [''] }, pod, false],
    ['namespaces: never a path', { namespaces: [''] }, logs, false],

    ['resources: its group and name', core('pods'), pod, true],
    ['resources: another name', core('nodes'), pod, false],
    ['resources: another group', core('clusterroles'), clusterRole, false],
    ['resources: any of a group', { resources: [{ group: '' }] }, podLog, true],
    ['resources: any of another group', { resources: [{ group: 'apps' }] }, podLog, false],
    ['resources: no group is the core group', { resources: [{ resources: ['pods'] }] }, pod, true],
    ['resources: every group', { resources: [{ group: '*', resources: ['clusterroles'] }] }, clusterRole, true],
    ['resources: the second entry', { resources: [{ group: 'apps' }, { group: '' }] }, pod, true],
    ['resources: never a path', { resources: [{ group: '' }] }, logs, false],
    ['resources: a name without its subresources', core('pods'), podLog, false],
    ['resources: a subresource', core('pods/log'), podLog, true],
    ['resources: a subresource is not the resource', core('pods/log'), pod, false],
    ['resources: another subresource', core('pods/status'), podLog, false],
    ['resources: star, a resource', core('*'), pod, true],
    ['resources: star, a subresource', core('*'), podLog, true],
    ['resources: */log, that subresource', core('*/log'), podLog, true],
    ['resources: */log, another', core('*/log'), { ...podLog, subresource: 'status' }, false],
    ['resources: */log, a resource', core('*/log'), pod, false],
    ['resources: pods/*, a subresource', core('pods/*'), podLog, true],
    ['resources: pods/*, pods', core('pods/*'), pod, true],
    ['resources: pods/*, of another', core('nodes/*'), podLog, false],
    ['resourceNames: its name', { resources: [{ resources: ['pods'], resourceNames: ['busybox'] }] }, pod, true],
    ['resourceNames: another', { resources: [{ resources: ['pods'], resourceNames: ['nginx'] }] }, pod, false],
    [
      'resourceNames: a list has no name',
      { resources: [{ resources: ['pods'], resourceNames: ['busybox'] }] },
      { ...pod, verb: 'list', name: '' },
      false,
    ],

    ['nonResourceURLs: its path', { nonResourceURLs: ['/logs/kubelet.log'] }, logs, true],
    ['nonResourceURLs: another path', { nonResourceURLs: ['/metrics'] }, logs, false],
    ['nonResourceURLs: a path above is no prefix', { nonResourceURLs: ['/logs'] }, logs, false],
    ['nonResourceURLs: a prefix', { nonResourceURLs: ['/logs*'] }, logs, true],
    ['nonResourceURLs: a prefix with a slash', { nonResourceURLs: ['/logs/*'] }, { ...logs, path: '/logs' }, false],
    ['nonResourceURLs: any path', { nonResourceURLs: ['*'] }, logs, true],
    ['nonResourceURLs: never a resource', { nonResourceURLs: ['*'] }, pod, false],
  ])('%s', (_reason, rule, request, matches) => {
    expect(policyOf([{ level: 'Request', ...rule }]).decide(request).level).toBe(matches ? 'Request' : 'None');
  });
});

test.each<[reason: string, rules: JsonObject[], level: string]>([
  ['the first match decides', [{ level: 'Metadata' }, { level: 'Request' }], 'Metadata'],
  ['also if it is None', [{ level: 'None', verbs: ['get'] }, { level: 'Request' }], 'None'],
  ['rules that do not match are skipped', [{ level: 'Metadata', verbs: ['list'] }, { level: 'Request' }], 'Request'],
  ['no match is None', [{ level: 'Request', verbs: ['list'] }], 'None'],
  ['None as the only rule', [{ level: 'None' }], 'None'],
  ['everything', [{ level: 'RequestResponse' }], 'RequestResponse'],
])('%s', (_reason, rules, level) => {
  expect(policyOf(rules).decide(pod).level).toBe(level);
});

test.each<[group: string, resource: string, subresource: string, level: string]>([
  ['', 'secrets', '', 'Metadata'],
  ['', 'secrets', 'status', 'Metadata'],
  ['authentication.k8s.io', 'tokenreviews', '', 'Metadata'],
  ['', 'serviceaccounts', 'token', 'Metadata'],
  ['', 'serviceaccounts', '', 'RequestResponse'],
  ['', 'serviceaccounts', 'status', 'RequestResponse'],
  ['example.com', 'secrets', '', 'RequestResponse'],
  ['', 'tokenreviews', '', 'RequestResponse'],
])('the most that is recorded of %j %s %s is %s', (group, resource, subresource, level) => {
  const request = { ...pod, group, resource, subresource };
  expect(policyOf([{ level: 'RequestResponse' }]).decide(request).level).toBe(level);
  expect(policyOf([{ level: 'Request' }]).decide(request).level).toBe(level === 'Metadata' ? level : 'Request');
  expect(policyOf([{ level: 'None' }]).decide(request).level).toBe('None');
});

test.each<[reason: string, policy: string[], rule: string[], verb: string, omitted: string[]]>([
  ['of the rule', [], ['RequestReceived'], 'get', ['RequestReceived']],
  ['of the policy', ['Panic'], [], 'get', ['Panic']],
  ['of both', ['Panic'], ['ResponseStarted', 'Panic'], 'get', ['ResponseStarted', 'Panic']],
  ['of the policy, without a rule that matches', ['Panic'], ['ResponseStarted'], 'list', ['Panic']],
  ['of neither', [], [], 'get', []],
])('stages are omitted: %s', (_reason, ofPolicy, ofRule, verb, omitted) => {
  const policy = policyOf([{ level: 'Request', verbs: ['get'], omitStages: ofRule }], { omitStages: ofPolicy });
  expect(auditStages.filter((stage) => policy.decide({ ...pod, verb }).omitStages.has(stage))).toEqual(omitted);
});

test.each<[ofPolicy: boolean | undefined, ofRule: boolean | undefined, omits: boolean]>([
  [undefined, undefined, false],
  [undefined, true, true],
  [true, undefined, true],
  [true, false, false],
  [false, true, true],
])('omitManagedFields: policy %s, rule %s', (ofPolicy, ofRule, omits) => {
  const rule = { level: 'Request', verbs: ['get'], ...(ofRule === undefined ? {} : { omitManagedFields: ofRule }) };
  const policy = policyOf([rule], ofPolicy === undefined ? {} : { omitManagedFields: ofPolicy });
  expect(policy.decide(pod).omitManagedFields).toBe(omits);
  expect(policy.decide({ ...pod, verb: 'list' }).omitManagedFields).toBe(ofPolicy ?? false);
});

describe('the default policy', () => {
  const apiserver = { name: 'system:apiserver', uid: '', groups: ['system:masters'] };
  const controllers = { name: 'manager', uid: '', groups: ['system:controllers'] };
  const plugin = { name: 'plugin', uid: '', groups: ['system:plugins'] };
  const admin = { name: 'admin', uid: '', groups: ['system:masters'] };
  const lease = { group: 'coordination.k8s.io', resource: 'leases' };
  const event = { group: '', resource: 'events' };
  const newEvent = { group: 'events.k8s.io', resource: 'events' };

  test.each<[verbs: string, request: Partial<AuditAttributes>, level: string]>([
    ['create update patch delete deletecollection', {}, 'Metadata'],
    ['create update patch delete deletecollection', { group: 'blog.example.com', resource: 'posts' }, 'Metadata'],
    ['create update patch', { subresource: 'status' }, 'Metadata'],
    ['create update patch delete', { resource: 'secrets' }, 'Metadata'],
    ['get list watch', {}, 'None'],
    ['get', { subresource: 'status' }, 'None'],
    ['get post put patch delete', { ...logs }, 'None'],
    ['put', { ...logs, path: '/debug/flags/log-level' }, 'Metadata'],
    ['get', { ...logs, path: '/debug/flags/log-level' }, 'None'],
    ['create delete deletecollection', lease, 'Metadata'],
    ['update patch', lease, 'None'],
    ['update patch', { ...lease, group: 'example.com' }, 'Metadata'],
    ['create update patch', { ...event, user: apiserver }, 'None'],
    ['create update patch', { ...newEvent, user: apiserver }, 'None'],
    ['create update patch', { ...event, user: { ...apiserver, name: 'system:controller-manager' } }, 'None'],
    ['create update patch', { ...event, user: controllers }, 'None'],
    ['create update patch', { ...newEvent, user: controllers }, 'None'],
    ['create update patch', { ...event, user: plugin }, 'None'],
    ['create update patch', { ...newEvent, user: plugin }, 'None'],
    ['delete deletecollection', { ...event, user: plugin }, 'Metadata'],
    ['delete deletecollection', { ...newEvent, user: apiserver }, 'Metadata'],
    ['create update patch', { ...event, user: admin }, 'Metadata'],
    ['create update patch', event, 'Metadata'],
    ['create update patch', { user: plugin }, 'Metadata'],
    ['create', { group: 'authentication.k8s.io', resource: 'tokenreviews' }, 'None'],
    ['create', { group: 'authentication.k8s.io', resource: 'selfsubjectreviews' }, 'None'],
    ['create', { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' }, 'None'],
    ['create', { group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' }, 'None'],
    ['create', { group: 'authorization.k8s.io', resource: 'selfsubjectrulesreviews' }, 'None'],
    ['create', { group: 'authorization.k8s.io', resource: 'localsubjectaccessreviews' }, 'None'],
    ['create', { group: 'example.com', resource: 'subjectaccessreviews' }, 'Metadata'],
  ])('%s of %j: %s', (verbs, request, level) => {
    for (const verb of verbs.split(' '))
      expect(AuditPolicy.default.decide({ ...pod, ...request, verb }).level).toBe(level);
  });

  test('records one event for a request', () => {
    const omitted = auditStages.filter((stage) =>
      AuditPolicy.default.decide({ ...pod, verb: 'create' }).omitStages.has(stage),
    );
    expect(omitted).toEqual(['RequestReceived']);
  });
});
