import type { AnyObject, IndexTypes, Stored, WebModel } from '@svc/client';
import { server } from '../server/server.ts';
import type { UserRecord } from './access-api.ts';

/** Of `rbac.authorization.k8s.io/v1`: who may do what on the content platform. */
export interface RoleRef {
  kind: string;
  name: string;
}

export interface Subject {
  kind: string;
  name: string;
  namespace?: string;
}

export interface PlatformBinding extends AnyObject {
  roleRef: RoleRef & { apiGroup?: string };
  subjects?: (Subject & { apiGroup?: string })[];
}

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface PlatformRole extends AnyObject {
  rules?: PolicyRule[];
}

/** One subject of one binding: somebody may do what a role permits, everywhere or in a namespace. */
export interface Grant {
  subject: Subject;
  role: RoleRef;
  /** Empty: everywhere. */
  namespace: string;
  binding: Stored<PlatformBinding>;
}

export const rbacGroup = 'rbac.authorization.k8s.io';

function modelOf<T extends AnyObject>(kind: string, namespaced: boolean): WebModel<T, IndexTypes> {
  const plural = `${kind.toLowerCase()}s`;
  return { group: rbacGroup, version: 'v1', kind, plural, namespaced, hasStatusSubresource: false };
}

export const clusterRoleBindingModel = modelOf<PlatformBinding>('ClusterRoleBinding', false);
export const roleBindingModel = modelOf<PlatformBinding>('RoleBinding', true);
const clusterRoleModel = modelOf<PlatformRole>('ClusterRole', false);
const roleModel = modelOf<PlatformRole>('Role', true);

/** More are not shown; a namespace has fewer. */
export const maxBindings = 2000;
const chunk = 500;

export interface GrantQuery {
  /** Empty: of all namespaces. */
  namespace: string;
  /** May the user list the bindings that count everywhere, and those of the namespace? */
  cluster: boolean;
  namespaced: boolean;
}

/** @throws StatusError */
export async function readGrants(
  { namespace, cluster, namespaced }: GrantQuery,
  signal: AbortSignal,
): Promise<{ grants: Grant[]; isCut: boolean }> {
  const bindings = [
    ...(cluster ? await readBindings(clusterRoleBindingModel, '', signal) : []),
    ...(namespaced ? await readBindings(roleBindingModel, namespace, signal) : []),
  ];
  return {
    grants: bindings.slice(0, maxBindings).flatMap((binding) =>
      (binding.subjects ?? []).map((subject) => ({
        subject,
        role: binding.roleRef,
        namespace: binding.metadata.namespace ?? '',
        binding,
      })),
    ),
    isCut: bindings.length > maxBindings,
  };
}

async function readBindings(
  model: WebModel<PlatformBinding, IndexTypes>,
  namespace: string,
  signal: AbortSignal,
): Promise<Stored<PlatformBinding>[]> {
  const resource = server.resource(model, namespace === '' ? {} : { namespace });
  const found: Stored<PlatformBinding>[] = [];
  for await (const binding of resource.each({ limit: chunk, signal })) {
    found.push(binding);
    if (found.length > maxBindings) break;
  }
  return found;
}

/** @throws StatusError */
export async function readPlatformRole(
  { kind, name }: RoleRef,
  namespace: string,
  signal: AbortSignal,
): Promise<PolicyRule[]> {
  const found =
    kind === 'ClusterRole'
      ? await server.resource(clusterRoleModel).get(name, { signal })
      : await server.resource(roleModel, { namespace }).get(name, { signal });
  return found.rules ?? [];
}

/** @throws StatusError */
export async function readClusterRoleNames(signal: AbortSignal): Promise<string[]> {
  const { items } = await server.resource(clusterRoleModel).list({ limit: chunk, signal });
  return items.map(({ metadata }) => metadata.name);
}

export interface NewGrant {
  subject: Pick<Subject, 'kind' | 'name'>;
  role: RoleRef;
  namespace: string;
}

/** @throws StatusError 403 for who does not have all that the role permits */
export async function giveRole({ subject, role, namespace }: NewGrant): Promise<void> {
  const draft = {
    metadata: { generateName: 'console-' },
    roleRef: { apiGroup: rbacGroup, ...role },
    subjects: [{ apiGroup: rbacGroup, ...subject }],
  };
  if (namespace === '') await server.resource(clusterRoleBindingModel).create(draft);
  else await server.resource(roleBindingModel, { namespace }).create(draft);
}

/** Takes the subject out of the binding; the binding goes with its last one. @throws StatusError */
export async function takeRole({ subject, namespace, binding }: Grant): Promise<void> {
  const { uid, resourceVersion, name } = binding.metadata;
  const resource =
    namespace === '' ? server.resource(clusterRoleBindingModel) : server.resource(roleBindingModel, { namespace });
  const others = (binding.subjects ?? []).filter(
    (each) => each.kind !== subject.kind || each.name !== subject.name || each.namespace !== subject.namespace,
  );
  if (others.length === 0) await resource.remove(name, { uid, resourceVersion });
  else await resource.patch(name, { metadata: { resourceVersion }, subjects: others });
}

/** The groups that the user has on the platform: their own, and those of their roles. */
export function platformGroupsOf(user: UserRecord, org: string): string[] {
  const ofSystem: Readonly<Record<string, string>> = {
    SystemAdmin: 'system:masters',
    SystemAuditor: 'svc:system-auditors',
  };
  return [
    'system:authenticated',
    ...user.groups,
    ...user.system_roles.flatMap(({ name }) => ofSystem[name] ?? []),
    ...user.org_roles.map((role) => `org:${role.org ?? org}:${role.name}`),
  ];
}
