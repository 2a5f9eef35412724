import { isDeepStrictEqual } from 'node:util';
import {
  isStatusError,
  type AnyObject,
  type Client,
  type Model,
  type ObjectKey,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import {
  builtinModels,
  defaultNamespace,
  definitionType,
  eventType,
  isDefinition,
  isEstablished,
  modelFromDefinition,
  namespaceModel,
  rbacGroup,
  resourceQuotaType,
  roleBindingType,
  type RoleBinding,
} from '#pkg/apis/index';
import { namespaceOf, type Namespaces } from '#pkg/access/index';

const namespaceType: ResourceType = {
  group: '',
  version: 'v1',
  kind: namespaceModel.names.kind,
  plural: namespaceModel.names.plural,
  namespaced: false,
  hasStatusSubresource: true,
};
/** The ClusterRole that a role of an organization has in its namespace. */
const rolesOf = { OrgAdmin: 'admin', OrgUser: 'edit', OrgAuditor: 'view' } as const;
const bindingNames: Readonly<Record<keyof typeof rolesOf, string>> = {
  OrgAdmin: 'svc:org-admins',
  OrgUser: 'svc:org-users',
  OrgAuditor: 'svc:org-auditors',
};
const organizationAnnotation = 'svc.run/organization';
/** On a new namespace until it has its quota, through crashes too. */
const awaitsQuotaAnnotation = 'svc.run/awaits-quota';
const quotaName = 'organization';
const timeoutMs = 5_000;

/** Namespaces of organizations, through the platform's own API. */
export class PlatformNamespaces implements Namespaces {
  readonly #client: Client;
  readonly #limits: Record<string, string>;

  /**
   * A client with all permissions; closed after everything that uses this. `limits`: names and values in `spec.hard` of
   * the quota of each new organization; empty for none.
   */
  constructor(client: Client, limits: readonly (readonly [name: string, value: string])[] = []) {
    this.#client = client;
    this.#limits = Object.fromEntries(limits);
  }

  async ensure({ id, name }: { id: string; name: string }): Promise<void> {
    const namespace = namespaceOf(id)!;
    const annotations = { [organizationAnnotation]: name };
    if (namespace !== defaultNamespace) {
      const awaitsQuota = Object.keys(this.#limits).length > 0;
      const present = await this.#createUnlessThere(namespaceType, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: {
          name: namespace,
          annotations: { ...annotations, ...(awaitsQuota ? { [awaitsQuotaAnnotation]: 'true' } : {}) },
        },
      });
      if (present === undefined ? awaitsQuota : present.metadata.annotations?.[awaitsQuotaAnnotation] !== undefined)
        await this.#createQuota(namespace);
      if (present !== undefined && present.metadata.annotations?.[organizationAnnotation] !== name)
        await this.#client.patch(
          namespaceType,
          keyOf(present),
          { type: 'merge', patch: { metadata: { annotations } } },
          timed(),
        );
    }
    for (const [role, clusterRole] of Object.entries(rolesOf))
      await this.#ensureBinding(bindingOf(id, namespace, role as keyof typeof rolesOf, clusterRole));
  }

  async remove({ id }: { id: string }): Promise<'removed' | 'in use'> {
    const namespace = namespaceOf(id)!;
    for (const type of await this.#namespacedTypes()) if (await this.#holds(namespace, type)) return 'in use';
    try {
      await this.#client.delete(namespaceType, { namespace: '', name: namespace }, timed());
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    return 'removed';
  }

  /** Once: whoever changes or deletes the quota later has the last word. */
  async #createQuota(namespace: string): Promise<void> {
    await this.#createUnlessThere(resourceQuotaType, {
      apiVersion: 'v1',
      kind: resourceQuotaType.kind,
      metadata: { namespace, name: quotaName },
      spec: { hard: this.#limits },
    });
    const patch = { metadata: { annotations: { [awaitsQuotaAnnotation]: null } } };
    await this.#client.patch(namespaceType, { namespace: '', name: namespace }, { type: 'merge', patch }, timed());
  }

  async #ensureBinding(binding: RoleBinding): Promise<void> {
    const present = await this.#createUnlessThere(roleBindingType, binding);
    if (present === undefined) return;
    if (isDeepStrictEqual(present.roleRef, binding.roleRef)) {
      if (!isDeepStrictEqual(present.subjects, binding.subjects))
        await this.#client.update(roleBindingType, { ...present, ...binding, metadata: present.metadata }, timed());
      return;
    }
    // A roleRef is immutable.
    await this.#client.delete(roleBindingType, keyOf(present), { ...timed(), uid: present.metadata.uid });
    await this.#client.create(roleBindingType, binding, timed());
  }

  /** The existing object; undefined if it was created. Reads first, because the object usually exists. */
  async #createUnlessThere<T extends AnyObject>(type: ResourceType<T>, object: T): Promise<Stored<T> | undefined> {
    const present = await this.#find(type, keyOf(object));
    // The namespace is being deleted with everything in it.
    if (present?.metadata.deletionTimestamp !== undefined)
      throw new Error(`${type.kind} ${present.metadata.name} is being deleted`);
    if (present === undefined) await this.#client.create(type, object, timed());
    return present;
  }

  async #find<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey): Promise<Stored<T> | undefined> {
    try {
      return await this.#client.get(type, key, timed());
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #namespacedTypes(): Promise<ResourceType[]> {
    const { items } = await this.#client.list(definitionType, timed());
    const models = [
      ...builtinModels,
      ...items.filter((each) => isDefinition(each) && isEstablished(each)).map((each) => modelFromDefinition(each)),
    ];
    return models.filter(({ scope }) => scope === 'Namespaced').flatMap(typeOf);
  }

  /** Whether the namespace has objects of users. Events do not count, which expire, nor quotas, which limit them. */
  async #holds(namespace: string, type: ResourceType): Promise<boolean> {
    if (type.group === '' && [eventType.plural, resourceQuotaType.plural].includes(type.plural)) return false;
    const isBinding = type.group === rbacGroup && type.plural === roleBindingType.plural;
    const own = isBinding ? Object.values(bindingNames) : [];
    try {
      const { items } = await this.#client.list(type, { namespace, limit: own.length + 1, ...timed() });
      return items.some(({ metadata }) => !own.includes(metadata.name ?? ''));
    } catch (error) {
      // The namespace or the model was deleted meanwhile.
      if (isStatusError(error, 'NotFound')) return false;
      throw error;
    }
  }
}

function timed(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(timeoutMs) };
}

function keyOf({ metadata }: { metadata: { name?: string; namespace?: string } }): ObjectKey {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

function bindingOf(id: string, namespace: string, role: keyof typeof rolesOf, clusterRole: string): RoleBinding {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { namespace, name: bindingNames[role] },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: clusterRole },
    subjects: [{ kind: 'Group', apiGroup: rbacGroup, name: `org:${id}:${role}` }],
  };
}

function typeOf({ group, names, scope, versions }: Model): ResourceType[] {
  const version = versions.find(({ served }) => served);
  if (version === undefined) return [];
  return [
    {
      group,
      version: version.name,
      kind: names.kind,
      plural: names.plural,
      namespaced: scope === 'Namespaced',
      hasStatusSubresource: version.subresources.status,
    },
  ];
}
