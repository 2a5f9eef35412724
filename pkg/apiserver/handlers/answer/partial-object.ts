import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';

/** An object as PartialObjectMetadata. Source: metav1.PartialObjectMetadata. */
export function metadataText(text: string): string {
  return JSON.stringify(partialObject(JSON.parse(text) as JsonObject));
}

export function partialObject({ metadata }: JsonObject, version = 'v1'): Record<string, JsonValue | undefined> {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}
