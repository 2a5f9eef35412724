import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { groupResource, isStatusError, type JsonObject, type Model } from '#pkg/apimachinery/index';
import {
  builtinModels,
  clusterRoleModel,
  configMapModel,
  eventModel,
  leaseModel,
  namespaceModel,
  resourceQuotaModel,
  roleBindingModel,
  roleModel,
  secretModel,
} from '#pkg/apis/index';
import { decodeProtobuf } from './decode-protobuf.ts';
import { deleteOptionsFields, protobufFieldsOf } from './kind-fields.ts';
import { encodeProtobuf, lengthField, varint } from './protobuftest/encode-protobuf.ts';

const fieldsOf = (model: Model) => protobufFieldsOf(model, model.versions[0]!)!;
const apiVersionOf = ({ group, storageVersion }: Model): string =>
  group === '' ? storageVersion : `${group}/${storageVersion}`;

/** What kubectl 1.33 sends for `kubectl create`. */
const fromKubectl: [string, Model, string, JsonObject][] = [
  [
    'namespace n1',
    namespaceModel,
    '6b3873000a0f0a02763112094e616d657370616365121a0a120a026e3112001a0022002a0032003800420012001a020a001a002200',
    { metadata: { name: 'n1' }, spec: {}, status: {} },
  ],
  [
    'configmap cm1 --from-literal=a=b',
    configMapModel,
    '6b3873000a0f0a0276311209436f6e6669674d6170121d0a130a03636d3112001a0022002a0032003800420012060a01611201621a002200',
    { metadata: { name: 'cm1' }, data: { a: 'b' } },
  ],
  [
    'secret generic s1 --from-literal=p=q',
    secretModel,
    '6b3873000a0c0a0276311206536563726574121e0a120a02733112001a0022002a0032003800420012060a01701201711a001a002200',
    { metadata: { name: 's1' }, data: { p: 'cQ==' } },
  ],
  [
    'role r1 --verb=get,list --resource=configmaps',
    roleModel,
    '6b3873000a240a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f76311204526f6c65122f0a120a02723112001a0022002a0032003800420012190a036765740a046c69737412001a0a636f6e6669676d6170731a002200',
    { metadata: { name: 'r1' }, rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] }] },
  ],
  [
    'clusterrole cr1 --verb=get --resource=configmaps',
    clusterRoleModel,
    '6b3873000a2b0a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f7631120b436c7573746572526f6c65122a0a130a0363723112001a0022002a0032003800420012130a0367657412001a0a636f6e6669676d6170731a002200',
    { metadata: { name: 'cr1' }, rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }] },
  ],
  [
    'rolebinding rb1 --role=r1 --user=ada --serviceaccount=default:x',
    roleBindingModel,
    '6b3873000a2b0a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f7631120b526f6c6542696e64696e671286010a130a0372623112001a0022002a0032003800420012280a04557365721219726261632e617574686f72697a6174696f6e2e6b38732e696f1a036164612200121e0a0e536572766963654163636f756e7412001a0178220764656661756c741a250a19726261632e617574686f72697a6174696f6e2e6b38732e696f1204526f6c651a0272311a002200',
    {
      metadata: { name: 'rb1' },
      subjects: [
        { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ada' },
        { kind: 'ServiceAccount', name: 'x', namespace: 'default' },
      ],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r1' },
    },
  ],
];

test.each(fromKubectl)('kubectl create %s', (_command, model, hex, object) => {
  expect(decodeProtobuf(Buffer.from(hex, 'hex'), fieldsOf(model))).toEqual({
    apiVersion: apiVersionOf(model),
    kind: model.names.kind,
    ...object,
  });
});

const time = '2026-01-31T09:30:00Z';
const microTime = '2026-01-31T09:30:00.000123Z';
const metadata = {
  name: 'n',
  namespace: 'default',
  uid: 'u',
  resourceVersion: '7',
  generation: 3,
  creationTimestamp: time,
  deletionGracePeriodSeconds: 0,
  labels: { a: '', 'b.com/c': 'd' },
  annotations: { e: 'ü' },
  ownerReferences: [
    { kind: 'K', name: 'o', uid: 'v', apiVersion: 'g/v1', controller: true, blockOwnerDeletion: false },
  ],
  finalizers: ['a.com/b'],
  managedFields: [
    {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'v1',
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:a': {} } },
    },
  ],
};

describe('every field comes back', () => {
  test.each<[Model, JsonObject]>([
    [
      namespaceModel,
      {
        spec: { finalizers: ['kubernetes'] },
        status: {
          phase: 'Active',
          conditions: [{ type: 'A', status: 'True', lastTransitionTime: time, reason: 'R', message: 'm' }],
        },
      },
    ],
    [configMapModel, { data: { a: '' }, binaryData: { b: 'AP8=' }, immutable: false }],
    [secretModel, { data: { a: 'AP8=' }, stringData: { b: 'c' }, type: 'Opaque', immutable: true }],
    [resourceQuotaModel, { spec: { hard: { 'count/notes': '5' }, scopes: ['x'] } }],
    [
      eventModel,
      {
        involvedObject: {
          kind: 'K',
          namespace: 'n',
          name: 'o',
          uid: 'u',
          apiVersion: 'v1',
          resourceVersion: '1',
          fieldPath: 'f',
        },
        reason: 'r',
        message: 'm',
        source: { component: 'c', host: 'h' },
        firstTimestamp: time,
        lastTimestamp: time,
        count: 2,
        type: 'Normal',
        eventTime: microTime,
        series: { count: 3, lastObservedTime: microTime },
        action: 'a',
        related: { kind: 'L' },
        reportingComponent: 'rc',
        reportingInstance: 'ri',
      },
    ],
    [
      leaseModel,
      {
        spec: {
          holderIdentity: 'h',
          leaseDurationSeconds: 15,
          acquireTime: microTime,
          renewTime: '1969-12-31T23:59:59.999999Z',
          leaseTransitions: 0,
          strategy: 's',
          preferredHolder: 'p',
        },
      },
    ],
    [
      clusterRoleModel,
      {
        rules: [{ verbs: ['get'], nonResourceURLs: ['/x'], resourceNames: ['y'] }],
        aggregationRule: {
          clusterRoleSelectors: [
            { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] },
          ],
        },
      },
    ],
  ])('of %#', (model, content) => {
    const object: JsonObject = { apiVersion: apiVersionOf(model), kind: model.names.kind, metadata, ...content };
    expect(decodeProtobuf(encodeProtobuf(object, fieldsOf(model)), fieldsOf(model))).toEqual(object);
  });

  test('of DeleteOptions', () => {
    const options = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u', resourceVersion: '1' },
      orphanDependents: false,
      propagationPolicy: 'Orphan',
      dryRun: ['All'],
    };
    expect(decodeProtobuf(encodeProtobuf(options, deleteOptionsFields), deleteOptionsFields)).toEqual(options);
  });
});

test('the fields are those of the schemas', () => {
  for (const model of builtinModels) {
    const fields = protobufFieldsOf(model, model.versions[0]!);
    if (fields === undefined) continue;
    const known = Object.keys(model.versions[0]!.schema.properties ?? {});
    for (const { name } of Object.values(fields))
      expect([groupResource(model), known]).toEqual([groupResource(model), expect.arrayContaining([name])]);
  }
});

const meta = (content: Buffer): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), lengthField(2, lengthField(1, content))]);

test.each<[string, Buffer, string]>([
  ['a time beyond year 9999', meta(lengthField(8, Buffer.concat([varint(8n), varint(1n << 60n)]))), 'a time in it'],
  ['a number beyond 2^53', meta(Buffer.concat([varint(56n), varint(1n << 60n)])), 'a number in it is beyond 2^53'],
  ['a length below 0', meta(Buffer.concat([varint(10n), varint(-1n)])), 'a field in it does not end'],
])('%s is refused', (_reason, bytes, detail) => {
  expect(() => decodeProtobuf(bytes, fieldsOf(configMapModel))).toThrow(detail);
});

test('more than 100 000 fields are refused', () => {
  const entries = Buffer.concat(Array.from({ length: 100_001 }, () => lengthField(14, Buffer.alloc(0))));
  expect(() => decodeProtobuf(meta(entries), fieldsOf(configMapModel))).toThrow(expect.objectContaining({ code: 413 }));
});

test('any change of any byte gives an object, a 400 or a 413', () => {
  const object = { apiVersion: 'v1', kind: 'Secret', metadata, data: { a: 'AP8=' }, stringData: { b: 'c' } };
  const whole = encodeProtobuf(object, fieldsOf(secretModel));
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 4 }), fc.nat(whole.length), (changes, length) => {
      const bytes = Buffer.from(whole.subarray(0, length));
      for (const [at, value] of changes) if (at < length) bytes[at] = value;
      try {
        expect(decodeProtobuf(bytes, fieldsOf(secretModel))).toBeInstanceOf(Object);
      } catch (error) {
        if (!isStatusError(error)) throw error;
        expect([400, 413, 422]).toContain(error.code);
      }
    }),
    { numRuns: 3000 },
  );
});
