import { randomUUID, randomInt } from 'node:crypto';
import { formatTimestamp, type ObjectMeta } from '#pkg/apimachinery/index';

/**
 * Metadata of a new object: the fields that a client may set, and the server's own fields. Other fields are dropped;
 * managedFields stay where the object was applied.
 */
export function newObjectMeta(
  sent: ObjectMeta,
  { name, namespace, now }: { name: string; namespace: string; now: number },
): ObjectMeta {
  const { generateName, labels, annotations, ownerReferences, finalizers, managedFields } = sent;
  return orderedMeta({
    name,
    generateName,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    managedFields,
    namespace,
    uid: randomUUID(),
    generation: 1,
    creationTimestamp: formatTimestamp(now),
  });
}

/**
 * Metadata of a changed object: system fields are kept from the old one. managedFields are the client's if it sends
 * any.
 */
export function changedObjectMeta(sent: ObjectMeta, old: ObjectMeta): ObjectMeta {
  const { labels, annotations, ownerReferences, finalizers } = sent;
  const { name, generateName, namespace, uid, generation } = old;
  const { creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = old;
  return orderedMeta({
    name,
    generateName,
    namespace,
    uid,
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    managedFields: sent.managedFields ?? old.managedFields,
  });
}

/** Metadata of an object whose status changes: the old metadata except for managedFields. */
export function statusObjectMeta(sent: ObjectMeta, old: ObjectMeta): ObjectMeta {
  return orderedMeta({ ...old, managedFields: sent.managedFields ?? old.managedFields });
}

/** Metadata of an object that is marked for deletion because of its finalizers. */
export function terminatingObjectMeta(old: ObjectMeta, now: number): ObjectMeta {
  return orderedMeta({
    ...old,
    generation: (old.generation ?? 0) + 1,
    deletionTimestamp: formatTimestamp(now),
    deletionGracePeriodSeconds: 0,
  });
}

const order = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const satisfies readonly (keyof ObjectMeta)[];

/** Orders the fields, and drops others, resourceVersion among them, and empty ones, so that `labels: {}` is no change. */
function orderedMeta(meta: { [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined }): ObjectMeta {
  const ordered: Partial<Record<keyof ObjectMeta, unknown>> = {};
  for (const field of order) {
    const value = meta[field];
    if (!isEmpty(value)) ordered[field] = value;
  }
  return ordered as ObjectMeta;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    value === '' ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  );
}

/** Without vowels and similar characters, so that names contain no words. Source: k8s.io/apimachinery/pkg/util/rand. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const randomLength = 5;

/** The prefix, truncated so that the name has at most `maxLength` characters, and 5 random characters. */
export function generatedName(prefix: string, maxLength = 63): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${prefix.slice(0, maxLength - randomLength)}${random}`;
}
