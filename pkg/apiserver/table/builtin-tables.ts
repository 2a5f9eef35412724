import {
  formatGroupResource,
  groupResource,
  isJsonObject,
  type GroupResource,
  type JsonObject,
  type JsonValue,
} from '#pkg/apimachinery/index';
import {
  clusterRoleBindingType,
  clusterRoleModel,
  configMapModel,
  definitionModel,
  eventType,
  leaseModel,
  namespaceModel,
  resourceQuotaType,
  roleBindingType,
  roleModel,
  secretModel,
} from '#pkg/apis/index';
import { ageOf, shortText } from './table-cell.ts';
import { column, creationDescription, nameColumn, type TableColumns } from './column-definition.ts';

const ageText = column('Age', { description: creationDescription });
const wide = { priority: 1 };

/** Source: k8s.io/kubernetes/pkg/printers/internalversion printEvent. */
const events: TableColumns = {
  definitions: [
    column('Last Seen', { description: 'The time at which the most recent occurrence of this event was recorded.' }),
    column('Type', { description: 'Type of this event (Normal, Warning), new types could be added in the future' }),
    column('Reason', {
      description:
        "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    }),
    column('Object', { description: 'The object that this event is about.' }),
    column('Subobject', { ...wide, description: 'The field of the object that this event is about.' }),
    column('Source', {
      ...wide,
      description: 'The component reporting this event. Should be a short machine understandable string.',
    }),
    column('Message', { description: 'A human-readable description of the status of this operation.' }),
    column('First Seen', {
      ...wide,
      description: 'The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)',
    }),
    column('Count', { ...wide, description: 'The number of times this event has occurred.' }),
    { ...nameColumn, ...wide },
  ],
  cells: (event, now) => {
    const series = objectAt(event, 'series');
    const target = objectAt(event, 'involvedObject');
    const firstSeen = ageOf(event['firstTimestamp'] ?? event['eventTime'], now);
    const lastSeen = isGiven(event['lastTimestamp']) ? ageOf(event['lastTimestamp'], now) : firstSeen;
    const count = numberAt(event, 'count');
    return [
      isJsonObject(event['series']) ? ageOf(series['lastObservedTime'], now) : lastSeen,
      textAt(event, 'type'),
      textAt(event, 'reason'),
      [textAt(target, 'kind').toLowerCase(), textAt(target, 'name')].filter((part) => part !== '').join('/'),
      textAt(target, 'fieldPath'),
      sourceOf(event),
      textAt(event, 'message').trim(),
      firstSeen,
      isJsonObject(event['series']) ? numberAt(series, 'count') : Math.max(1, count),
      textAt(objectAt(event, 'metadata'), 'name'),
    ];
  },
};

function sourceOf(event: JsonObject): string {
  const source = objectAt(event, 'source');
  const component = textAt(source, 'component') || textAt(event, 'reportingComponent');
  const instance = textAt(source, 'host') || textAt(event, 'reportingInstance');
  return instance === '' ? component : `${component}, ${instance}`;
}

/** Source: printNamespace. */
const namespaces: TableColumns = {
  definitions: [nameColumn, column('Status', { description: 'The status of the namespace' }), ageText],
  cells: (namespace, now) => nameAndAge(namespace, now).toSpliced(1, 0, textAt(objectAt(namespace, 'status'), 'phase')),
};

/** Source: printLease. */
const leases: TableColumns = {
  definitions: [
    nameColumn,
    column('Holder', { description: 'holderIdentity contains the identity of the holder of a current lease.' }),
    ageText,
  ],
  cells: (lease, now) => nameAndAge(lease, now).toSpliced(1, 0, textAt(objectAt(lease, 'spec'), 'holderIdentity')),
};

/** Kinds without columns of their own. Source: k8s.io/apiserver/pkg/registry/rest NewDefaultTableConvertor. */
const otherKinds: TableColumns = {
  definitions: [nameColumn, column('Created At', { type: 'date', description: creationDescription })],
  cells: (object) => {
    const metadata = objectAt(object, 'metadata');
    return [textAt(metadata, 'name'), textAt(metadata, 'creationTimestamp')];
  },
};

const roleBindings = bindingColumns(
  'roleBinding',
  'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace.',
);
const clusterRoleBindings = bindingColumns(
  'clusterRoleBinding',
  'RoleRef can only reference a ClusterRole in the global namespace.',
);

/** Source: printRoleBinding, printClusterRoleBinding. */
function bindingColumns(kind: string, roleDescription: string): TableColumns {
  return {
    definitions: [
      nameColumn,
      column('Role', {
        description: `${roleDescription} If the RoleRef cannot be resolved, the Authorizer must return an error.`,
      }),
      ageText,
      column('Users', { ...wide, description: `Users in the ${kind}` }),
      column('Groups', { ...wide, description: `Groups in the ${kind}` }),
      column('ServiceAccounts', { ...wide, description: `ServiceAccounts in the ${kind}` }),
    ],
    cells: (binding, now) => {
      const role = objectAt(binding, 'roleRef');
      return [
        ...nameAndAge(binding, now).toSpliced(1, 0, `${textAt(role, 'kind')}/${textAt(role, 'name')}`),
        subjectsOf(binding, 'User'),
        subjectsOf(binding, 'Group'),
        subjectsOf(binding, 'ServiceAccount'),
      ];
    },
  };
}

function subjectsOf({ subjects }: JsonObject, kind: string): string {
  const all = Array.isArray(subjects) ? subjects.filter(isJsonObject) : [];
  const named = all.filter((subject) => subject['kind'] === kind);
  const texts = named.map((subject) =>
    kind === 'ServiceAccount' ? `${textAt(subject, 'namespace')}/${textAt(subject, 'name')}` : textAt(subject, 'name'),
  );
  return shortText(texts.join(', '));
}

/** Source: printConfigMap. */
const configMaps: TableColumns = {
  definitions: [
    nameColumn,
    column('Data', {
      description:
        "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'.",
    }),
    ageText,
  ],
  cells: (configMap, now) => nameAndAge(configMap, now).toSpliced(1, 0, keysAt(configMap, 'data', 'binaryData')),
};

/** Source: printSecret. */
const secrets: TableColumns = {
  definitions: [
    nameColumn,
    column('Type', { description: 'Used to facilitate programmatic handling of secret data.' }),
    column('Data', {
      description:
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here.",
    }),
    ageText,
  ],
  cells: (secret, now) => nameAndAge(secret, now).toSpliced(1, 0, textAt(secret, 'type'), keysAt(secret, 'data')),
};

/** Source: printResourceQuota. */
const resourceQuotas: TableColumns = {
  definitions: [
    nameColumn,
    column('Request', {
      description: 'Request represents a minimum amount of cpu/memory that a container may consume.',
    }),
    column('Limit', {
      description:
        'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
    }),
    ageText,
  ],
  cells: (quota, now) => {
    const status = objectAt(quota, 'status');
    const used = objectAt(status, 'used');
    const hard = objectAt(status, 'hard');
    const textOf = (isLimit: boolean): string =>
      Object.keys(hard)
        .toSorted()
        .filter((name) => name.startsWith('limits.') === isLimit)
        .map((name) => `${name}: ${textAt(used, name) || '0'}/${textAt(hard, name)}`)
        .join(', ');
    return nameAndAge(quota, now).toSpliced(1, 0, shortText(textOf(false)), shortText(textOf(true)));
  },
};

/** The table of a `scale` subresource. Source: printScale. */
export const scaleTable: TableColumns = {
  definitions: [
    nameColumn,
    column('Desired', {
      type: 'integer',
      description: 'replicas is the desired number of instances for the scaled object.',
    }),
    column('Available', {
      type: 'integer',
      description: 'replicas is the actual number of observed instances of the scaled object.',
    }),
    ageText,
  ],
  cells: (scale, now) =>
    nameAndAge(scale, now).toSpliced(
      1,
      0,
      numberAt(objectAt(scale, 'spec'), 'replicas'),
      numberAt(objectAt(scale, 'status'), 'replicas'),
    ),
};

/** The tables of the kinds that Kubernetes has, too, as it shows them; by `<plural>.<group>`. */
export const builtinTables: ReadonlyMap<string, TableColumns> = new Map(
  (
    [
      [groupResource(namespaceModel), namespaces],
      [groupResource(configMapModel), configMaps],
      [groupResource(secretModel), secrets],
      [resourceOf(eventType), events],
      [resourceOf(roleBindingType), roleBindings],
      [resourceOf(clusterRoleBindingType), clusterRoleBindings],
      [groupResource(roleModel), otherKinds],
      [groupResource(clusterRoleModel), otherKinds],
      [groupResource(definitionModel), otherKinds],
      [groupResource(leaseModel), leases],
      [resourceOf(resourceQuotaType), resourceQuotas],
    ] as const
  ).map(([resource, columns]) => [formatGroupResource(resource), columns]),
);

function resourceOf({ group, plural }: { group: string; plural: string }): GroupResource {
  return { group, resource: plural };
}

function nameAndAge(object: JsonObject, now: number): JsonValue[] {
  const metadata = objectAt(object, 'metadata');
  return [textAt(metadata, 'name'), ageOf(metadata['creationTimestamp'], now)];
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

/** How many keys these fields have together. */
function keysAt(object: JsonObject, ...fields: string[]): number {
  return fields.reduce((sum, field) => sum + Object.keys(objectAt(object, field)).length, 0);
}

function textAt(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === 'string' ? shortText(value) : '';
}

function numberAt(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' ? value : 0;
}
