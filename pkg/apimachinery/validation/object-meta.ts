import { isJsonObject, type JsonValue, type ObjectMeta } from '../meta/object.ts';
import type { NameRule } from '../scheme/model.ts';
import { duplicate, forbidden, invalid, required, tooLong, tooMany } from '../status/field-error.ts';
import type { StatusCause } from '../status/status.ts';
import { validateName } from './name.ts';
import { isReservedKey, platformKeys, validateLabelValue, validateQualifiedKey } from './qualified-key.ts';
import { maxIndexKeyBytes } from '../scheme/index-definition.ts';

export interface ObjectMetaOptions {
  nameRule: NameRule;
  namespaced: boolean;
  /** Start of the paths of causes. Default `metadata`. */
  field?: string;
  /**
   * Whether the text has the form of one of the platform's credentials. Called for every `pat_` with 36 base62 digits.
   * Default: false.
   */
  isCredential?: (text: string) => boolean;
  /** The stored metadata, of an update: there is no warning about a finalizer that it has. */
  old?: ObjectMeta | undefined;
}

/** Causes refuse the object (422), at most 100 of them; warnings go into `Warning` headers. */
export interface MetaValidation {
  causes: StatusCause[];
  warnings: string[];
}

const maxCauses = 100;
export const maxLabels = 256;
const maxFinalizers = 64;
/** Far above real use; their size is limited too, but only one by one. */
const maxAnnotations = 10_000;
/** Bytes, keys and values together. */
const maxAnnotationsSize = 256 << 10;
const credentialForm = /pat_[0-9A-Za-z]{36}/g;

/**
 * Checks the metadata a client may set: names, namespace, labels, annotations, finalizers and owner references. `meta`
 * must have passed `checkMetadataShape`; values of a wrong JSON type are skipped here. A generateName is checked as the
 * start of a name; the code that completes it must shorten it to fit.
 */
export function validateObjectMeta(meta: unknown, options: ObjectMetaOptions): MetaValidation {
  const { field = 'metadata', isCredential = () => false } = options;
  const source = isJsonObject(meta) ? meta : {};
  const labels = textEntries(source['labels']);
  const annotations = textEntries(source['annotations']);
  const finalizers = validateFinalizers(source['finalizers'], `${field}.finalizers`, options.old?.finalizers);
  const causes = [
    ...validateNames(source['name'], source['generateName'], options.nameRule, field),
    ...validateNamespace(source['namespace'], options.namespaced, `${field}.namespace`),
    ...validateLabels(labels, `${field}.labels`),
    ...validateAnnotations(annotations, `${field}.annotations`),
    ...findCredentials(labels, `${field}.labels`, isCredential),
    ...findCredentials(annotations, `${field}.annotations`, isCredential),
    ...finalizers.causes,
    ...validateOwnerReferences(source['ownerReferences'], `${field}.ownerReferences`),
  ];
  const keys = platformKeyFindings(
    {
      labels: Object.fromEntries(labels),
      annotations: Object.fromEntries(annotations),
      finalizers: textItems(source['finalizers']),
    },
    field,
  );
  return { causes: causes.slice(0, maxCauses), warnings: [...finalizers.warnings, ...keys] };
}

/**
 * Causes of a 422 for lists and maps with too many members, without reading any: such a value is not worth copying.
 * `meta` is input of a client, of any JSON type.
 */
export function metadataCountCauses(meta: unknown, field = 'metadata'): StatusCause[] {
  if (!isJsonObject(meta)) return [];
  const { labels, annotations, finalizers, ownerReferences } = meta;
  const counts = [
    ['labels', isJsonObject(labels) ? Object.keys(labels).length : 0, maxLabels],
    ['annotations', isJsonObject(annotations) ? Object.keys(annotations).length : 0, maxAnnotations],
    ['finalizers', Array.isArray(finalizers) ? finalizers.length : 0, maxFinalizers],
    ['ownerReferences', Array.isArray(ownerReferences) ? ownerReferences.length : 0, maxOwnerReferences],
  ] as const;
  return counts
    .filter(([, actual, max]) => actual > max)
    .map(([name, actual, max]) => tooMany(`${field}.${name}`, actual, max));
}

function validateNames(
  name: JsonValue | undefined,
  generateName: JsonValue | undefined,
  rule: NameRule,
  field: string,
): StatusCause[] {
  const causes: StatusCause[] = [];
  const prefix = typeof generateName === 'string' ? generateName : '';
  if (prefix !== '') {
    // The dash is followed by the random part, so it does not end the name.
    const violation = validateName(prefix.endsWith('-') ? `${prefix.slice(0, -1)}a` : prefix, rule);
    if (violation !== undefined) causes.push(invalid(`${field}.generateName`, prefix, violation));
  }
  if (typeof name !== 'string' || name === '') {
    if (prefix === '') causes.push(required(`${field}.name`, 'name or generateName is required'));
    return causes;
  }
  const violation = validateName(name, rule);
  if (violation !== undefined) causes.push(invalid(`${field}.name`, name, violation));
  return causes;
}

function validateNamespace(namespace: JsonValue | undefined, namespaced: boolean, field: string): StatusCause[] {
  const given = typeof namespace === 'string' && namespace !== '' ? namespace : undefined;
  if (given === undefined) return namespaced ? [required(field)] : [];
  if (!namespaced) return [forbidden(field, 'not allowed on this type')];
  const violation = validateName(given, 'dns-label');
  return violation === undefined ? [] : [invalid(field, given, violation)];
}

function validateLabels(labels: Entries, field: string): StatusCause[] {
  if (labels.length > maxLabels) return [tooMany(field, labels.length, maxLabels)];
  return labels.flatMap(([key, value]) => {
    const violation = validateLabelValue(value);
    return [...validateKey(key, field), ...(violation === undefined ? [] : [invalid(field, value, violation)])];
  });
}

function validateAnnotations(annotations: Entries, field: string): StatusCause[] {
  let size = 0;
  for (const [key, value] of annotations) size += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (size > maxAnnotationsSize) return [tooLong(field, maxAnnotationsSize)];
  return annotations.flatMap(([key]) => validateKey(key, field));
}

function validateKey(key: string, field: string): StatusCause[] {
  const violation = validateQualifiedKey(key);
  if (violation !== undefined) return [invalid(field, key, violation)];
  return isReservedKey(key) ? [forbidden(field, `the key "${key}" is under a domain reserved for the platform`)] : [];
}

/** Checks keys too: a credential in a key is as readable. The causes do not repeat it. */
function findCredentials(entries: Entries, field: string, isCredential: (text: string) => boolean): StatusCause[] {
  const holds = (text: string): boolean =>
    (text.match(credentialForm) ?? []).some((candidate) => isCredential(candidate));
  return entries.flatMap(([key, value]) => {
    if (holds(key))
      return [forbidden(field, 'a key holds a credential; credentials belong in neither labels nor annotations')];
    return holds(value)
      ? [
          forbidden(
            field,
            `the value of "${key.slice(0, 317)}" holds a credential; credentials belong in neither labels nor annotations`,
          ),
        ]
      : [];
  });
}

function validateFinalizers(
  finalizers: JsonValue | undefined,
  field: string,
  old: readonly string[] = [],
): MetaValidation {
  if (!Array.isArray(finalizers)) return { causes: [], warnings: [] };
  if (finalizers.length > maxFinalizers)
    return { causes: [tooMany(field, finalizers.length, maxFinalizers)], warnings: [] };
  const causes: StatusCause[] = [];
  const warnings: string[] = [];
  for (const [index, finalizer] of finalizers.entries()) {
    if (typeof finalizer !== 'string') continue;
    const violation = validateQualifiedKey(finalizer);
    if (violation !== undefined) causes.push(invalid(`${field}[${index}]`, finalizer, violation));
    else if (finalizers.indexOf(finalizer) < index) causes.push(duplicate(`${field}[${index}]`, finalizer));
    else if (!finalizer.includes('/') && !standardFinalizers.has(finalizer) && !old.includes(finalizer)) {
      const path = finalizer.includes('.') ? ' including a path (/)' : '';
      warnings.push(
        `${field}: "${finalizer}": prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
      );
    }
  }
  return { causes, warnings };
}

const standardFinalizers: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

type Entries = [string, string][];

function textItems(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function textEntries(value: JsonValue | undefined): Entries {
  return isJsonObject(value)
    ? Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    : [];
}

const maxOwnerReferences = 256;

/**
 * Source: ValidateOwnerReferences in k8s.io/apimachinery/pkg/api/validation. A uid must fit into the index on it, too.
 */
function validateOwnerReferences(references: JsonValue | undefined, field: string): StatusCause[] {
  if (!Array.isArray(references)) return [];
  if (references.length > maxOwnerReferences) return [tooMany(field, references.length, maxOwnerReferences)];
  const objects = references.map((reference) => (isJsonObject(reference) ? reference : {}));
  const causes = objects.flatMap((reference, index) =>
    ['apiVersion', 'kind', 'name', 'uid']
      .filter((key) => isBlank(reference[key]))
      .map((key) => required(`${field}[${index}].${key}`)),
  );
  for (const [index, { uid }] of objects.entries()) {
    if (typeof uid === 'string' && Buffer.byteLength(uid) > maxIndexKeyBytes)
      causes.push(tooLong(`${field}[${index}].uid`, maxIndexKeyBytes));
  }
  const controllers = objects.filter((reference) => reference['controller'] === true);
  if (controllers.length < 2) return causes;
  const names = controllers.slice(0, 2).map((reference) => `${show(reference['kind'])}/${show(reference['name'])}`);
  return [...causes, invalid(field, names, 'only one reference can have controller set to true')];
}

function isBlank(value: JsonValue | undefined): boolean {
  return typeof value !== 'string' || value === '';
}

function show(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.slice(0, 60) : '';
}

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
