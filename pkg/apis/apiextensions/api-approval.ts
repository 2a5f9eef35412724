import { fieldError, type ObjectMeta, type StatusCause } from '#pkg/apimachinery/index';

export const apiApprovedAnnotation = 'api-approved.kubernetes.io';
const see = 'see https://github.com/kubernetes/enhancements/pull/1111';

type Approval = 'missing' | 'invalid' | 'approved' | 'bypassed';

/**
 * Groups of the Kubernetes community need an approval annotation: the URL of the review, or a text that starts with
 * `unapproved`. An update that leaves it unchanged is never refused. Source: KEP-1111.
 */
export function validateApproval(
  group: string,
  metadata: ObjectMeta | undefined,
  old: ObjectMeta | undefined,
): StatusCause[] {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)) return [];
  const state = approval(metadata);
  if (old !== undefined && approval(old) === state) return [];
  const field = `metadata.annotations[${apiApprovedAnnotation}]`;
  const must = `protected groups must have approval annotation "${apiApprovedAnnotation}"`;
  if (state === 'missing') return [fieldError.required(field, `${must}, ${see}`)];
  if (state === 'invalid')
    return [
      fieldError.invalid(
        field,
        annotation(metadata),
        `${must} with either a URL or a reason starting with "unapproved", ${see}`,
      ),
    ];
  return [];
}

function approval(metadata: ObjectMeta | undefined): Approval {
  const value = annotation(metadata);
  if (value === '') return 'missing';
  if (value.startsWith('unapproved')) return 'bypassed';
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]/.test(value) && URL.canParse(value) ? 'approved' : 'invalid';
}

function annotation(metadata: ObjectMeta | undefined): string {
  const value: unknown = metadata?.annotations?.[apiApprovedAnnotation];
  return typeof value === 'string' ? value : '';
}
