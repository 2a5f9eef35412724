import { fieldError, validateName, type StatusCause } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition, DefinitionNames } from './definition.ts';
import { labelFault, mixedCaseLabelFault } from './label-name.ts';

/** Kubernetes groups that this server serves itself, some of them without a model. */
const ownGroups: ReadonlySet<string> = new Set([
  'apiextensions.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'coordination.k8s.io',
  'events.k8s.io',
  'rbac.authorization.k8s.io',
]);

export function validateDefinitionName({ metadata, spec }: CustomResourceDefinition): StatusCause[] {
  const fits = metadata?.name === `${spec.names.plural}.${spec.group}`;
  return fits
    ? []
    : [fieldError.invalid('metadata.name', metadata?.name ?? '', 'must be spec.names.plural+"."+spec.group')];
}

export function validateGroup(group: string): StatusCause[] {
  const field = 'spec.group';
  if (group === '') return [fieldError.required(field)];
  const fault = validateName(group, 'dns-subdomain');
  if (fault !== undefined) return [fieldError.invalid(field, group, fault)];
  if (!group.includes('.')) return [fieldError.invalid(field, group, 'should be a domain with at least one dot')];
  if (group === 'svc.run' || group.endsWith('.svc.run'))
    return [fieldError.forbidden(field, 'the groups svc.run and *.svc.run are reserved for the platform')];
  if (ownGroups.has(group)) return [fieldError.forbidden(field, `the group ${group} is served by the platform itself`)];
  return [];
}

/**
 * Refuses a plural whose paths would be ambiguous: `/namespaces/{name}` is a namespace, and two words after a namespace
 * are its own subresources.
 */
export function validatePluralPath({ names, scope }: CustomResourceDefinition['spec']): StatusCause[] {
  const hidden =
    scope === 'Cluster' ? names.plural === 'namespaces' : names.plural === 'status' || names.plural === 'finalize';
  return hidden
    ? [
        fieldError.invalid(
          'spec.names.plural',
          names.plural,
          `the paths of a ${scope === 'Cluster' ? 'cluster-scoped' : 'namespaced'} resource of this name are those of namespaces`,
        ),
      ]
    : [];
}

/** `names` after defaultDefinition: all four names are required. */
export function validateNames(names: DefinitionNames): StatusCause[] {
  const causes = [
    ...name('plural', names.plural, labelFault),
    ...name('singular', names.singular, labelFault),
    ...name('kind', names.kind, mixedCaseLabelFault),
    ...name('listKind', names.listKind, mixedCaseLabelFault),
    ...labels('shortNames', names.shortNames),
    ...labels('categories', names.categories),
  ];
  if (names.kind !== '' && names.kind === names.listKind) {
    causes.push(fieldError.invalid('spec.names.listKind', names.listKind, 'kind and listKind may not be the same'));
  }
  return causes;
}

function name(field: string, value: string | undefined, faultOf: (text: string) => string | undefined): StatusCause[] {
  if (value === undefined || value === '') return [fieldError.required(`spec.names.${field}`)];
  const fault = faultOf(value);
  return fault === undefined ? [] : [fieldError.invalid(`spec.names.${field}`, value, fault)];
}

function labels(field: string, values: string[] = []): StatusCause[] {
  return values.flatMap((value, index) => {
    const fault = labelFault(value);
    return fault === undefined ? [] : [fieldError.invalid(`spec.names.${field}[${index}]`, value, fault)];
  });
}
