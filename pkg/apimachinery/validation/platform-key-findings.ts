import type { ObjectMeta } from '../meta/object.ts';
import { platformKeys } from './qualified-key.ts';

type KeyedMeta = { [K in 'labels' | 'annotations' | 'finalizers']?: ObjectMeta[K] | undefined };

/**
 * Warnings about the platform's own keys without effect: in a wrong place, or with a meaningless value. One sentence
 * each, starting with the field.
 */
export function platformKeyFindings(
  { labels = {}, annotations = {}, finalizers = [] }: KeyedMeta,
  field = 'metadata',
): string[] {
  const misplaced = (keys: readonly string[], place: 'label' | 'annotation' | 'finalizer'): string[] =>
    keys.flatMap((key) => {
      const right = platformKeys.get(key);
      return right === undefined || right === place
        ? []
        : [
            `${field}.${place}s: "${key}" has no effect here: it is ${right === 'label' ? 'a label' : 'an annotation'}, which belongs into ${field}.${right}s`,
          ];
    });
  const keep = labels['svc.run/do-not-overwrite'] ?? 'true';
  const meaningless =
    keep === 'true' || keep === 'false'
      ? []
      : [`${field}.labels: "svc.run/do-not-overwrite" has an effect with the value "true" only`];
  return [
    ...misplaced(Object.keys(labels), 'label'),
    ...meaningless,
    ...misplaced(Object.keys(annotations), 'annotation'),
    ...misplaced(finalizers, 'finalizer'),
  ];
}
