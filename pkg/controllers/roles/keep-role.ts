import {
  apiGroupOf,
  isSameJson,
  type Client,
  type JsonObject,
  type OwnerReference,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import {
  clusterRoleBindingType,
  clusterRoleType,
  rbacGroup,
  type ClusterRole,
  type ClusterRoleBinding,
  type PolicyRule,
  type Subject,
} from '#pkg/apis/index';
import { ignoreNotFound, writeChanges } from '#pkg/runtime/index';

type RoleObject = ClusterRole | ClusterRoleBinding;
/** Of labels by which a role is part of others. */
const aggregatePrefix = 'rbac.authorization.k8s.io/aggregate-to-';

type RoleWriter = Pick<Client, 'create' | 'patch' | 'patchStatus' | 'delete'>;

/**
 * Its labels and owner are added to those that others gave it, but for labels by which other roles take its rules in;
 * all else of it is as it says.
 */
export interface WantedRole {
  name: string;
  rules: PolicyRule[];
  labels?: Record<string, string>;
  owner?: OwnerReference;
}

/** Makes the ClusterRole as it is wanted, and writes nothing where it is. */
export async function keepRole(
  client: RoleWriter,
  present: Stored<ClusterRole> | undefined,
  { rules, ...wanted }: WantedRole,
): Promise<void> {
  await keep(client, clusterRoleType, present, {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRole',
    metadata: metadataOf(wanted),
    rules,
  });
}

/** Makes the ClusterRoleBinding give the ClusterRole of its name to this subject alone. */
export async function keepBinding(
  client: RoleWriter,
  present: Stored<ClusterRoleBinding> | undefined,
  { subject, ...wanted }: Omit<WantedRole, 'rules'> & { subject: Subject },
): Promise<void> {
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: wanted.name } as const;
  const binding: ClusterRoleBinding = {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: metadataOf(wanted),
    roleRef,
    subjects: [subject],
  };
  if (present === undefined || isSameJson(present.roleRef as unknown as JsonObject, roleRef))
    return keep(client, clusterRoleBindingType, present, binding);
  // A reference cannot be changed.
  await deleteRole(client, clusterRoleBindingType, present);
  await keep(client, clusterRoleBindingType, undefined, binding);
}

export async function deleteRole<T extends RoleObject>(
  client: RoleWriter,
  type: ResourceType<T>,
  { metadata: { name, uid } }: Stored<T>,
): Promise<void> {
  await ignoreNotFound(client.delete(type, { namespace: '', name }, { uid }));
}

async function keep<T extends RoleObject>(
  client: RoleWriter,
  type: ResourceType<T>,
  present: Stored<T> | undefined,
  wanted: T,
): Promise<void> {
  if (present === undefined) {
    await client.create(type, wanted);
    return;
  }
  const { labels, ownerReferences = [] } = wanted.metadata;
  const others = (present.metadata.ownerReferences ?? []).filter(
    (each) => !ownerReferences.some((own) => isSameOwner(each, own)),
  );
  const metadata = {
    ...present.metadata,
    ...(labels === undefined && present.metadata.labels === undefined
      ? {}
      : { labels: { ...withoutAggregation(present.metadata.labels), ...labels } }),
    ...(ownerReferences.length === 0 ? {} : { ownerReferences: [...others, ...ownerReferences] }),
  };
  await writeChanges(client, type, present, { ...wanted, metadata });
}

function withoutAggregation(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(aggregatePrefix)));
}

function metadataOf({ name, labels, owner }: Omit<WantedRole, 'rules'>): ClusterRole['metadata'] {
  return {
    name,
    ...(labels === undefined ? {} : { labels }),
    ...(owner === undefined ? {} : { ownerReferences: [owner] }),
  };
}

/** A former one of the same name counts: what it owned is the present one's. */
export function isSameOwner(
  a: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>,
  b: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>,
): boolean {
  return a.kind === b.kind && a.name === b.name && apiGroupOf(a.apiVersion) === apiGroupOf(b.apiVersion);
}
