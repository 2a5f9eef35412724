import type { ObjectMeta } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition } from '#pkg/apis/index';

/** On an unregistered definition: the versions that were served, for the next registration. */
const servedVersionsAnnotation = 'svc.run/served-versions';

export function versionsServedBefore({ annotations }: ObjectMeta): ReadonlySet<string> {
  return new Set(annotations?.[servedVersionsAnnotation]?.split(','));
}

export function withServedBefore<Meta extends ObjectMeta>(metadata: Meta, versions: readonly string[]): Meta {
  return { ...metadata, annotations: { ...metadata.annotations, [servedVersionsAnnotation]: versions.join(',') } };
}

/** Serves the versions again that were served before the definition was unregistered; changes nothing else. */
export function servedAgain<Definition extends CustomResourceDefinition>(definition: Definition): Definition {
  const before = versionsServedBefore(definition.metadata);
  if (before.size === 0) return definition;
  const versions = definition.spec.versions.map((version) => ({
    ...version,
    served: version.served || before.has(version.name),
  }));
  return { ...definition, metadata: withoutServedBefore(definition.metadata), spec: { ...definition.spec, versions } };
}

export function withoutServedBefore<Meta extends ObjectMeta>(metadata: Meta): Meta {
  if (metadata.annotations?.[servedVersionsAnnotation] === undefined) return metadata;
  const { [servedVersionsAnnotation]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}
