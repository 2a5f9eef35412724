import { formatApiVersion } from '#pkg/apimachinery/index';
import type { FieldType, MessageField, MessageFields } from './decode-protobuf.ts';

/** A field for each entry: its number, name and type. */
function fields(...entries: [number: number, name: string, type?: FieldType][]): MessageFields {
  return Object.fromEntries(
    entries.map(([number, name, type = 'text']): [number, MessageField] => [number, { name, type }]),
  );
}

/** Source: generated.proto of k8s.io/apimachinery/pkg/apis/meta/v1. */
const metadata: MessageFields = fields(
  [1, 'name'],
  [2, 'generateName'],
  [3, 'namespace'],
  [4, 'selfLink'],
  [5, 'uid'],
  [6, 'resourceVersion'],
  [7, 'generation', 'integer'],
  [8, 'creationTimestamp', 'time'],
  [9, 'deletionTimestamp', 'time'],
  [10, 'deletionGracePeriodSeconds', 'optionalInteger'],
  [11, 'labels', { map: 'text' }],
  [12, 'annotations', { map: 'text' }],
  [
    13,
    'ownerReferences',
    {
      list: fields(
        [1, 'kind'],
        [3, 'name'],
        [4, 'uid'],
        [5, 'apiVersion'],
        [6, 'controller', 'boolean'],
        [7, 'blockOwnerDeletion', 'boolean'],
      ),
    },
  ],
  [14, 'finalizers', 'texts'],
  [
    17,
    'managedFields',
    {
      list: fields(
        [1, 'manager'],
        [2, 'operation'],
        [3, 'apiVersion'],
        [4, 'time', 'time'],
        [6, 'fieldsType'],
        [7, 'fieldsV1', 'rawJson'],
        [8, 'subresource'],
      ),
    },
  ],
);
const labelSelector = fields(
  [1, 'matchLabels', { map: 'text' }],
  [2, 'matchExpressions', { list: fields([1, 'key'], [2, 'operator'], [3, 'values', 'texts']) }],
);

/** The options of a DELETE. */
export const deleteOptionsFields: MessageFields = fields(
  [1, 'gracePeriodSeconds', 'optionalInteger'],
  [2, 'preconditions', { message: fields([1, 'uid'], [2, 'resourceVersion']) }],
  [3, 'orphanDependents', 'boolean'],
  [4, 'propagationPolicy'],
  [5, 'dryRun', 'texts'],
);

/** Source: generated.proto of k8s.io/api/core/v1. */
const objectReference = fields(
  [1, 'kind'],
  [2, 'namespace'],
  [3, 'name'],
  [4, 'uid'],
  [5, 'apiVersion'],
  [6, 'resourceVersion'],
  [7, 'fieldPath'],
);
const condition = fields([1, 'type'], [2, 'status'], [4, 'lastTransitionTime', 'time'], [5, 'reason'], [6, 'message']);
const coreFields: Record<string, MessageFields> = {
  Namespace: kind(
    [2, 'spec', { message: fields([1, 'finalizers', 'texts']) }],
    [3, 'status', { message: fields([1, 'phase'], [2, 'conditions', { list: condition }]) }],
  ),
  ConfigMap: kind([2, 'data', { map: 'text' }], [3, 'binaryData', { map: 'bytes' }], [4, 'immutable', 'boolean']),
  Secret: kind(
    [2, 'data', { map: 'bytes' }],
    [3, 'type'],
    [4, 'stringData', { map: 'text' }],
    [5, 'immutable', 'boolean'],
  ),
  Event: kind(
    [2, 'involvedObject', { message: objectReference }],
    [3, 'reason'],
    [4, 'message'],
    [5, 'source', { message: fields([1, 'component'], [2, 'host']) }],
    [6, 'firstTimestamp', 'time'],
    [7, 'lastTimestamp', 'time'],
    [8, 'count', 'integer'],
    [9, 'type'],
    [10, 'eventTime', 'microTime'],
    [11, 'series', { message: fields([1, 'count', 'integer'], [2, 'lastObservedTime', 'microTime']) }],
    [12, 'action'],
    [13, 'related', { message: objectReference }],
    [14, 'reportingComponent'],
    [15, 'reportingInstance'],
  ),
  ResourceQuota: kind(
    [2, 'spec', { message: fields([1, 'hard', { map: 'quantity' }], [2, 'scopes', 'texts']) }],
    [3, 'status', { message: fields([1, 'hard', { map: 'quantity' }], [2, 'used', { map: 'quantity' }]) }],
  ),
};

/** Source: generated.proto of k8s.io/api/coordination/v1. */
const lease = kind([
  2,
  'spec',
  {
    message: fields(
      [1, 'holderIdentity'],
      [2, 'leaseDurationSeconds', 'optionalInteger'],
      [3, 'acquireTime', 'microTime'],
      [4, 'renewTime', 'microTime'],
      [5, 'leaseTransitions', 'optionalInteger'],
      [6, 'strategy'],
      [7, 'preferredHolder'],
    ),
  },
]);

/** Source: generated.proto of k8s.io/api/rbac/v1. */
const rules: FieldType = {
  list: fields(
    [1, 'verbs', 'texts'],
    [2, 'apiGroups', 'texts'],
    [3, 'resources', 'texts'],
    [4, 'resourceNames', 'texts'],
    [5, 'nonResourceURLs', 'texts'],
  ),
};
const binding = kind(
  [2, 'subjects', { list: fields([1, 'kind'], [2, 'apiGroup'], [3, 'name'], [4, 'namespace']) }],
  [3, 'roleRef', { message: fields([1, 'apiGroup'], [2, 'kind'], [3, 'name']) }],
);
const rbacFields: Record<string, MessageFields> = {
  Role: kind([2, 'rules', rules]),
  ClusterRole: kind(
    [2, 'rules', rules],
    [3, 'aggregationRule', { message: fields([1, 'clusterRoleSelectors', { list: labelSelector }]) }],
  ),
  RoleBinding: binding,
  ClusterRoleBinding: binding,
};

const fieldsByVersion: Readonly<Record<string, Record<string, MessageFields>>> = {
  v1: coreFields,
  'coordination.k8s.io/v1': { Lease: lease },
  'rbac.authorization.k8s.io/v1': rbacFields,
};

/** The fields of a kind whose objects may be protobuf; undefined for any other, as all custom ones. */
export function protobufFieldsOf(
  { group, names }: { group: string; names: { kind: string } },
  { name: version }: { name: string },
): MessageFields | undefined {
  const kinds = fieldsByVersion[formatApiVersion({ group, version })];
  return kinds !== undefined && Object.hasOwn(kinds, names.kind) ? kinds[names.kind] : undefined;
}

function kind(...content: [number: number, name: string, type?: FieldType][]): MessageFields {
  return { ...fields(...content), 1: { name: 'metadata', type: { message: metadata } } };
}
