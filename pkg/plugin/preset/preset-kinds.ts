import {
  apiGroupOf,
  formatApiVersion,
  formatGroupResource,
  type AnyObject,
  type Model,
  type Reader,
  type ResourceType,
} from '#pkg/apimachinery/index';
import {
  builtinModels,
  defaultDefinition,
  definitionGroup,
  definitionKind,
  definitionType,
  isDefinition,
  isEstablished,
  modelFromDefinition,
  type CustomResourceDefinition,
} from '#pkg/apis/index';

/** The kinds that presets may have, and their resource types: built in, declared by definitions, or about to be. */
export class PresetKinds {
  readonly #models = new Map<string, Model>();

  private constructor(models: Iterable<Model>) {
    for (const model of models) this.#models.set(kindKey(model.group, model.names.kind), model);
  }

  /** @param shipped definitions that are not written yet */
  static async load(
    client: Pick<Reader, 'list'>,
    shipped: readonly CustomResourceDefinition[],
    signal: AbortSignal,
  ): Promise<PresetKinds> {
    const { items } = await client.list(definitionType, { signal });
    const stored = items
      .filter((definition) => isDefinition(definition) && isEstablished(definition))
      .map(modelFromDefinition);
    // The built-in model wins over a definition of the same kind, which is never served.
    return new PresetKinds([
      ...stored,
      ...shipped.map((definition) => modelFromDefinition(defaultDefinition(definition))),
      ...builtinModels,
    ]);
  }

  /** The kind in exactly this version, if it is served. */
  find({ apiVersion, kind }: Pick<AnyObject, 'apiVersion' | 'kind'>): ResourceType | undefined {
    const model = this.#models.get(kindKey(apiGroupOf(apiVersion), kind));
    return model === undefined
      ? undefined
      : typeOf(model, ({ name }) => formatApiVersion({ group: model.group, version: name }) === apiVersion);
  }

  /**
   * The kind in any served version; `unserved` if its objects are stored but no version is served, undefined if the
   * kind is unknown.
   */
  findServed({ apiVersion, kind }: Pick<AnyObject, 'apiVersion' | 'kind'>): ResourceType | 'unserved' | undefined {
    const model = this.#models.get(kindKey(apiGroupOf(apiVersion), kind));
    return model === undefined
      ? undefined
      : (this.find({ apiVersion, kind }) ?? typeOf(model, () => true) ?? 'unserved');
  }

  /** The served versions of a kind, for messages. */
  versionsOf(apiVersion: string, kind: string): string[] {
    const model = this.#models.get(kindKey(apiGroupOf(apiVersion), kind));
    return (model?.versions ?? []).filter(({ served }) => served).map(({ name }) => name);
  }

  /** All namespaced kinds that are served. */
  namespaced(): ResourceType[] {
    return this.#namespacedModels().flatMap((model) => typeOf(model, () => true) ?? []);
  }

  /** Namespaced kinds that are not served: `posts.blog.example.com`. */
  unserved(): string[] {
    return this.#namespacedModels().flatMap((model) =>
      typeOf(model, () => true) === undefined
        ? [formatGroupResource({ group: model.group, resource: model.names.plural })]
        : [],
    );
  }

  #namespacedModels(): Model[] {
    return [...this.#models.values()].filter(({ scope }) => scope === 'Namespaced');
  }
}

export function isDefinitionKind({ apiVersion, kind }: Pick<AnyObject, 'apiVersion' | 'kind'>): boolean {
  return kind === definitionKind && apiGroupOf(apiVersion) === definitionGroup;
}

export function isNamespaceKind({ apiVersion, kind }: Pick<AnyObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Namespace' && apiVersion === 'v1';
}

/** `posts.blog.example.com` */
export function formatType({ group, plural }: ResourceType): string {
  return formatGroupResource({ group, resource: plural });
}

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}

function typeOf(model: Model, isWanted: (version: Model['versions'][number]) => boolean): ResourceType | undefined {
  const version = model.versions.find((each) => each.served && isWanted(each));
  if (version === undefined) return undefined;
  const { group, names, scope } = model;
  return {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    namespaced: scope === 'Namespaced',
    hasStatusSubresource: version.subresources.status,
  };
}
