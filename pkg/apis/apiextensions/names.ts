import { formatGroupResource, groupResource, type Model } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition, DefinitionNames } from './definition.ts';

/** The names that one owner holds in a group. */
export interface NameClaim {
  /** A definition's name, or a built-in model's `plural.group`. */
  owner: string;
  names: Partial<DefinitionNames>;
}

export type NameField = 'plural' | 'singular' | 'shortNames' | 'kind' | 'listKind';

export interface NameConflict {
  field: NameField;
  value: string;
  /** The owner that had the name first. */
  owner: string;
}

export function claimOfDefinition(definition: CustomResourceDefinition): NameClaim {
  return { owner: definition.metadata.name, names: definition.status?.acceptedNames ?? {} };
}

export function claimOfModel(model: Model): NameClaim {
  return { owner: formatGroupResource(groupResource(model)), names: model.names };
}

/**
 * The names that a definition gets, given those that `others` already have: all owners of its group but itself. Plural,
 * singular and short names share one namespace, kind and listKind another. A name it was given before stays its own. If
 * a name clashes, the one accepted earlier is kept; short names are accepted together or not at all.
 */
export function acceptNames(
  definition: CustomResourceDefinition,
  others: readonly NameClaim[],
): { accepted: Partial<DefinitionNames>; conflicts: NameConflict[] } {
  const wanted = definition.spec.names;
  const held = definition.status?.acceptedNames ?? {};
  const resources = ownersByName(others, ({ plural, singular, shortNames }) => [
    plural,
    singular,
    ...(shortNames ?? []),
  ]);
  const kinds = ownersByName(others, ({ kind, listKind }) => [kind, listKind]);
  const accepted: Partial<DefinitionNames> = { ...held };
  const conflicts: NameConflict[] = [];

  const clash = (field: NameField, value: string, mine: boolean, owners: ReadonlyMap<string, string>): boolean => {
    const owner = mine ? undefined : owners.get(value);
    if (owner !== undefined) conflicts.push({ field, value, owner });
    return owner !== undefined;
  };
  for (const [field, owners] of [
    ['plural', resources],
    ['singular', resources],
    ['kind', kinds],
    ['listKind', kinds],
  ] as const) {
    const value = wanted[field];
    if (value !== undefined && !clash(field, value, held[field] === value, owners)) accepted[field] = value;
  }
  const refused = (wanted.shortNames ?? []).filter((value) =>
    clash('shortNames', value, held.shortNames?.includes(value) ?? false, resources),
  );
  if (refused.length === 0) replace(accepted, 'shortNames', wanted.shortNames);
  replace(accepted, 'categories', wanted.categories);
  return { accepted, conflicts };
}

function replace(
  names: Partial<DefinitionNames>,
  field: 'shortNames' | 'categories',
  values: string[] | undefined,
): void {
  if (values === undefined) delete names[field];
  else names[field] = values;
}

function ownersByName(
  claims: readonly NameClaim[],
  namesOf: (names: Partial<DefinitionNames>) => (string | undefined)[],
): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { owner, names } of claims) {
    for (const name of namesOf(names)) {
      if (name !== undefined && name !== '' && !owners.has(name)) owners.set(name, owner);
    }
  }
  return owners;
}
