import type { AnyObject, ObjectKey, ResourceType } from '#pkg/apimachinery/index';
import {
  defaultDefinition,
  defaultNamespace,
  isDefinition,
  shapeCauses,
  type CustomResourceDefinition,
} from '#pkg/apis/index';
import { PluginError } from '../plugin-error.ts';
import { identityOf } from './inventory.ts';
import { isDefinitionKind, isNamespaceKind, type PresetKinds } from './preset-kinds.ts';
import { formatObject, formatPlace, type PresetObject } from './preset-object.ts';

/** A preset with its resource type and key. */
export interface PlannedPreset {
  preset: PresetObject;
  type: ResourceType;
  key: ObjectKey;
  /** With a namespace if its kind is namespaced. */
  shipped: AnyObject;
}

/** The definitions among the presets that declare other presets' kinds. @throws PluginError PresetsInvalid */
export function shippedDefinitions(
  presets: readonly PresetObject[],
  models: readonly string[],
): CustomResourceDefinition[] {
  return presets
    .filter(({ object }) => isDefinitionKind(object))
    .map((preset) => {
      const definition = defaultDefinition(preset.object as AnyObject);
      const { name } = definition.metadata;
      if (models.includes(name)) throw newInvalid(preset, `the plugin registers the model ${name} itself`);
      if (isDefinition(definition)) return definition;
      const [cause] = shapeCauses(definition);
      throw newInvalid(preset, `it is no definition: ${cause?.message ?? 'its form is another'}`);
    });
}

/**
 * Resolves every preset without calling the API: namespaces and definitions first, then the others in their order.
 * @throws PluginError PresetKindUnknown, PresetsInvalid
 */
export function planPresets(presets: readonly PresetObject[], kinds: PresetKinds): PlannedPreset[] {
  const planned = presets.map((preset) => planPreset(preset, kinds));
  const places = new Map<string, PresetObject>();
  for (const { preset, shipped } of planned) {
    const identity = identityOf({ ...shipped, ...shipped.metadata });
    const other = places.get(identity);
    if (other !== undefined)
      throw newInvalid(
        preset,
        `${formatObject({ ...shipped, ...shipped.metadata })} is in ${formatPlace(other)} as well`,
      );
    places.set(identity, preset);
  }
  return planned.toSorted((a, b) => rank(a) - rank(b));
}

function planPreset(preset: PresetObject, kinds: PresetKinds): PlannedPreset {
  const { metadata, ...rest } = preset.object;
  const type = kinds.find(preset.object);
  if (type === undefined) throw newKindUnknown(preset, kinds);
  if (!type.namespaced && metadata.namespace !== undefined)
    throw newInvalid(preset, `metadata.namespace may not be: objects of kind ${type.kind} live in none`);
  // The same namespace as with kubectl.
  const namespace = type.namespaced ? (metadata.namespace ?? defaultNamespace) : '';
  const shipped: AnyObject = { ...rest, metadata: { ...metadata, ...(namespace === '' ? {} : { namespace }) } };
  const key = { namespace, name: metadata.name };
  if (isDefinitionKind(shipped)) return { preset, type, key, shipped: asStored(shipped) };
  if (type.hasStatusSubresource && shipped.status !== undefined)
    throw newInvalid(preset, `status may not be: objects of kind ${type.kind} have it written apart`);
  return { preset, type, key, shipped };
}

/**
 * Adds the server's defaults, so that an unchanged definition compares equal. Some tools write an empty status into
 * definitions.
 */
function asStored(definition: AnyObject): AnyObject {
  const { status: _, ...shipped } = defaultDefinition(definition);
  return shipped;
}

function newKindUnknown(preset: PresetObject, kinds: PresetKinds): PluginError {
  const { apiVersion, kind } = preset.object;
  const versions = kinds.versionsOf(apiVersion, kind);
  const hint =
    versions.length === 0
      ? 'register its model, ship its definition, or depend on the plugin that does'
      : `it is served in ${versions.join(', ')}`;
  return new PluginError({
    reason: 'PresetKindUnknown',
    message: `${formatPlace(preset)}: the kind ${kind} of ${apiVersion} is not known: ${hint}`,
  });
}

function newInvalid(preset: PresetObject, message: string): PluginError {
  return new PluginError({ reason: 'PresetsInvalid', message: `${formatPlace(preset)}: ${message}` });
}

function rank({ shipped }: PlannedPreset): number {
  if (isNamespaceKind(shipped)) return 0;
  return isDefinitionKind(shipped) ? 1 : 2;
}
