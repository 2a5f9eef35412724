import {
  apiGroupOf,
  equalJson,
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
/** Prefix of labels that aggregate a role into others. */
const aggregatePrefix = 'rbac.authorization.k8s.io/aggregate-to-';

type RoleWriter = Pick<Client, 'create' | 'patch' | 'patchStatus' | 'delete'>;

/**
 * Labels and owner are added to existing ones, but existing aggregation labels are removed; all other fields are
 * replaced.
 */
export interface WantedRole {
  name: string;
  rules: PolicyRule[];
  labels?: Record<string, string>;
  owner?: OwnerReference;
}

/** Creates or updates the ClusterRole; no write if it is already as wanted. */
export async function ensureRole(
  client: RoleWriter,
  present: Stored<ClusterRole> | undefined,
  { rules, ...wanted }: WantedRole,
): Promise<void> {
  await ensure(client, clusterRoleType, present, {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRole',
    metadata: metadataOf(wanted),
    rules,
  });
}

/** Creates or updates the ClusterRoleBinding that gives the ClusterRole of its name to this subject only. */
export async function ensureBinding(
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
  if (present === undefined || equalJson(present.roleRef as unknown as JsonObject, roleRef))
    return ensure(client, clusterRoleBindingType, present, binding);
  // A roleRef is immutable.
  await deleteRole(client, clusterRoleBindingType, present);
  await ensure(client, clusterRoleBindingType, undefined, binding);
}

export async function deleteRole<T extends RoleObject>(
  client: RoleWriter,
  type: ResourceType<T>,
  { metadata: { name, uid } }: Stored<T>,
): Promise<void> {
  await ignoreNotFound(client.delete(type, { namespace: '', name }, { uid }));
}

async function ensure<T extends RoleObject>(
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

/** Ignores the uid: a previous owner of the same name counts as the present one. */
export function isSameOwner(
  a: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>,
  b: Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>,
): boolean {
  return a.kind === b.kind && a.name === b.name && apiGroupOf(a.apiVersion) === apiGroupOf(b.apiVersion);
}
