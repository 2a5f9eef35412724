import { newNotFound, newUnknownPath, type ResourceType } from '#pkg/apimachinery/index';
import { newForbiddenRequest } from '#pkg/http/index';
import type { Authorizer, UserInfo } from '#pkg/identity/index';
import { needsNamespace, type ModelRegistry, type ServedResource } from '../rest/served-resource.ts';

export interface LoopbackAccessOptions {
  registry: ModelRegistry;
  authorizer: Authorizer;
  /** The user whose permissions apply. */
  user: UserInfo;
}

/** A request for a type. */
export interface Access {
  verb: string;
  subresource?: '' | 'status';
  /** Absent for all namespaces, and for a cluster-scoped type. */
  namespace?: string | undefined;
  /** For a list or watch: the single name that its selector selects, as over HTTP. */
  name?: string;
}

/**
 * The checks before the storage for requests from within the process: the same checks, in the same order, as over HTTP.
 */
export class LoopbackAccess {
  readonly #options: LoopbackAccessOptions;

  constructor(options: LoopbackAccessOptions) {
    this.#options = options;
  }

  get user(): UserInfo {
    return this.#options.user;
  }

  /** @throws StatusError 403, or 404 for a type, version, subresource or namespace that does not exist. */
  async open(
    type: ResourceType,
    { verb, subresource = '', namespace = '', name = '' }: Access,
  ): Promise<ServedResource> {
    const { group, version, plural } = type;
    const { registry, authorizer, user } = this.#options;
    const attributes = {
      user,
      verb,
      group,
      version,
      resource: plural,
      subresource,
      namespace,
      name,
      isResourceRequest: true,
      path: '',
    };
    const decision = await authorizer.authorize(attributes);
    if (!decision.allowed) throw newForbiddenRequest(attributes, decision.reason);
    const served = registry.find(group, version, plural) ?? (await registry.findNewest(group, version, plural));
    if (served === undefined) throw newUnknownPath();
    if (subresource === 'status' && !served.version.subresources.status) throw newUnknownPath();
    await this.#checkNamespace(served, { verb, namespace, name });
    return served;
  }

  async #checkNamespace({ model }: ServedResource, { verb, namespace = '', name = '' }: Access): Promise<void> {
    const isOfObject = name !== '' && verb !== 'list' && verb !== 'watch';
    if ((model.scope === 'Cluster') !== (namespace === '') && (namespace !== '' || isOfObject)) throw newUnknownPath();
    if (namespace !== '' && needsNamespace(model, verb) && !(await this.#options.registry.hasNamespace(namespace)))
      throw newNotFound({ group: '', resource: 'namespaces' }, namespace);
  }
}
