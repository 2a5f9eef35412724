import type { Model } from '#pkg/apimachinery/index';
import { claimOfDefinition, claimOfModel, type CustomResourceDefinition, type NameClaim } from '#pkg/apis/index';

export interface KnownDefinition {
  revision: number;
  definition: CustomResourceDefinition;
}

/** Every stored definition, served or not, maintained from the change feed. */
export class DefinitionCatalog {
  readonly #builtins: readonly Model[];
  readonly #byName = new Map<string, KnownDefinition>();
  readonly #byGroup = new Map<string, Set<string>>();

  constructor(builtins: readonly Model[]) {
    this.#builtins = builtins;
  }

  get(name: string): KnownDefinition | undefined {
    return this.#byName.get(name);
  }

  all(): KnownDefinition[] {
    return [...this.#byName.values()];
  }

  inGroup(group: string): CustomResourceDefinition[] {
    return [...(this.#byGroup.get(group) ?? [])].flatMap((name) => this.#byName.get(name)?.definition ?? []);
  }

  /** The names that other definitions and built-in models claim in a group. */
  claimsOfOthers(group: string, name: string): NameClaim[] {
    return [
      ...this.#builtins.filter((model) => model.group === group).map(claimOfModel),
      ...this.inGroup(group)
        .filter(({ metadata }) => metadata.name !== name)
        .map(claimOfDefinition),
    ];
  }

  put(known: KnownDefinition): void {
    const { metadata, spec } = known.definition;
    this.remove(metadata.name);
    this.#byName.set(metadata.name, known);
    this.#byGroup.set(spec.group, (this.#byGroup.get(spec.group) ?? new Set()).add(metadata.name));
  }

  remove(name: string): KnownDefinition | undefined {
    const known = this.#byName.get(name);
    if (known === undefined) return undefined;
    this.#byName.delete(name);
    const { group } = known.definition.spec;
    const members = this.#byGroup.get(group);
    members?.delete(name);
    if (members?.size === 0) this.#byGroup.delete(group);
    return known;
  }
}
