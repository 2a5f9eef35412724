import {
  fieldError,
  isPrototypeKey,
  type PrinterColumn,
  type ScaleSubresource,
  type StatusCause,
} from '#pkg/apimachinery/index';
import type { DefinitionVersion } from './definition.ts';
import { labelFault } from './label-name.ts';
import { findSelectableField } from './selectable-field.ts';

const columnTypes: readonly string[] = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats: readonly string[] = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** `.a.b` */
const simplePath = /^(?:\.[^\s.[\]{}'"\\]+)+$/;
/**
 * `.`, or names and brackets: `.a.b`, `..a`, `.a\.b`, `.a[0]`, `.a['b']`, `.a[?(@.type=="Ready")].b`. Each alternative
 * starts differently, so matching is linear.
 */
const columnPath = /^(?:\.|(?:\.\.?(?:\\.|[^\s.[\]{}'"\\])+|\.?\[(?:[^[\]'"]|'[^']*'|"[^"]*"|\[[^[\]'"]*\])+\])+)$/;
/** Letters, marks, numbers, punctuation, symbols and the space; the text becomes a header. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Checks one version by itself, without its schema and its indexes. */
export function validateVersion(version: DefinitionVersion, field: string): StatusCause[] {
  const nameFault = labelFault(version.name);
  return [
    ...(nameFault === undefined ? [] : [fieldError.invalid(`${field}.name`, version.name, nameFault)]),
    ...validateDeprecation(version, `${field}.deprecationWarning`),
    ...validateScale(version.subresources?.scale, `${field}.subresources.scale`),
    ...(version.additionalPrinterColumns ?? []).flatMap((column, index) =>
      validateColumn(column, `${field}.additionalPrinterColumns[${index}]`),
    ),
    ...validateSelectableFields(version, `${field}.selectableFields`),
  ];
}

function validateDeprecation(
  { deprecated, deprecationWarning: warning }: DefinitionVersion,
  field: string,
): StatusCause[] {
  if (warning === undefined) return [];
  if (deprecated !== true) return [fieldError.invalid(field, warning, 'can only be set for deprecated versions')];
  if (warning === '') return [fieldError.invalid(field, warning, 'must not be an empty string')];
  if (Buffer.byteLength(warning) > 256) return [fieldError.invalid(field, warning, 'must be <= 256 characters long')];
  const at = warning.search(unprintable);
  if (at < 0) return [];
  return [
    fieldError.invalid(
      field,
      warning,
      `must only contain printable UTF-8 characters; non-printable character found at index ${at}`,
    ),
  ];
}

function validateScale(scale: ScaleSubresource | undefined, field: string): StatusCause[] {
  if (scale === undefined) return [];
  return [
    ...validateScalePath(scale.specReplicasPath, `${field}.specReplicasPath`, ['.spec']),
    ...validateScalePath(scale.statusReplicasPath, `${field}.statusReplicasPath`, ['.status']),
    // Absent and empty both mean no selector.
    ...(scale.labelSelectorPath
      ? validateScalePath(scale.labelSelectorPath, `${field}.labelSelectorPath`, ['.spec', '.status'])
      : []),
  ];
}

function validateScalePath(path: string, field: string, roots: readonly string[]): StatusCause[] {
  if (path === '') return [fieldError.required(field)];
  if (!path.startsWith('.')) return [fieldError.invalid(field, path, 'must be a simple json path starting with .')];
  if (!simplePath.test(path)) return [fieldError.invalid(field, path, 'must be a json path in the dot notation')];
  if (path.split('.').some(isPrototypeKey))
    return [fieldError.invalid(field, path, 'must not name __proto__, constructor or prototype')];
  if (roots.some((root) => path.startsWith(`${root}.`))) return [];
  return [
    fieldError.invalid(
      field,
      path,
      `should be a json path under ${roots.length === 1 ? roots[0] : `either ${roots.join(' or ')}`}`,
    ),
  ];
}

function validateColumn({ name, type, format, jsonPath }: PrinterColumn, field: string): StatusCause[] {
  const causes: StatusCause[] = [];
  if (name === '') causes.push(fieldError.required(`${field}.name`));
  const typeRule = `must be one of ${columnTypes.join(',')}`;
  // The schema of definitions lets any text through.
  const givenType: string = type;
  if (givenType === '') causes.push(fieldError.required(`${field}.type`, typeRule));
  else if (!columnTypes.includes(givenType)) causes.push(fieldError.invalid(`${field}.type`, givenType, typeRule));
  if (format !== undefined && format !== '' && !columnFormats.includes(format)) {
    causes.push(fieldError.invalid(`${field}.format`, format, `must be one of ${columnFormats.join(',')}`));
  }
  if (jsonPath === '') causes.push(fieldError.required(`${field}.jsonPath`));
  else if (!jsonPath.startsWith('.'))
    causes.push(fieldError.invalid(`${field}.jsonPath`, jsonPath, 'must be a simple json path starting with .'));
  else if (!columnPath.test(jsonPath))
    causes.push(fieldError.invalid(`${field}.jsonPath`, jsonPath, 'must be a json path of names and brackets'));
  return causes;
}

function validateSelectableFields(version: DefinitionVersion, field: string): StatusCause[] {
  const seen = new Set<string>();
  return (version.selectableFields ?? []).flatMap(({ jsonPath }, index) => {
    const pathField = `${field}[${index}].jsonPath`;
    if (jsonPath === '') return [fieldError.required(pathField)];
    const target = findSelectableField(jsonPath, version.schema?.openAPIV3Schema);
    if ('problem' in target) return [fieldError.invalid(pathField, jsonPath, target.problem)];
    if (seen.has(jsonPath)) return [fieldError.duplicate(pathField, jsonPath)];
    seen.add(jsonPath);
    return [];
  });
}
